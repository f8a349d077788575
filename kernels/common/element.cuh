#pragma once

#include <cstdint>

/// The two 16-bit element types, as pairs packed in a register (element 0 in the low half). All
/// arithmetic is a single IEEE rounding to nearest even, written as the PTX instruction that does
/// it, so that nothing is left for ptxas to contract.
namespace bitgate::kernels::device {

struct F16 {
  static __device__ __forceinline__ std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    std::uint32_t d;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
  }
  static __device__ __forceinline__ std::uint32_t fma(std::uint32_t a, std::uint32_t b,
                                                      std::uint32_t c) {
    std::uint32_t d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
  }
  static __device__ __forceinline__ float low_to_float(std::uint32_t pair) {
    return to_float(static_cast<std::uint16_t>(pair));
  }
  static __device__ __forceinline__ float high_to_float(std::uint32_t pair) {
    return to_float(static_cast<std::uint16_t>(pair >> 16));
  }
  static __device__ __forceinline__ std::uint16_t round(float value) {
    std::uint16_t d;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(d) : "f"(value));
    return d;
  }

 private:
  static __device__ __forceinline__ float to_float(std::uint16_t bits) {
    float d;
    asm("cvt.f32.f16 %0, %1;" : "=f"(d) : "h"(bits));
    return d;
  }
};

struct BF16 {
  static __device__ __forceinline__ std::uint32_t fma(std::uint32_t a, std::uint32_t b,
                                                      std::uint32_t c) {
    std::uint32_t d;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
  }
  static __device__ __forceinline__ float low_to_float(std::uint32_t pair) {
    return __uint_as_float(pair << 16);
  }
  static __device__ __forceinline__ float high_to_float(std::uint32_t pair) {
    return __uint_as_float(pair & 0xffff0000U);
  }
  static __device__ __forceinline__ std::uint16_t round(float value) {
    std::uint16_t d;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(d) : "f"(value));
    return d;
  }
};

}  // namespace bitgate::kernels::device
