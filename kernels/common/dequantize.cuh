#pragma once

#include <cstdint>

#include "kernels/common/element.cuh"
#include "kernels/common/mma.cuh"

/// 4-bit codes to q - z, exactly. A word holds the eight codes of a lane's Fragment16x16: register
/// j has its low element in bits 4j..4j+3 and its high element 16 bits above. A code or'ed into the
/// mantissa of a power of two whose last place is 1 is that power plus q; subtracting the power
/// plus z leaves q - z without rounding, z in 0..16.
namespace bitgate::kernels::device {

/// The addends that take power-plus-code to q - z, for the fragment's rows g (`first`) and g+8.
template <class T>
struct ZeroPoints;

/// The byte `index` of `bytes` below `high`, in both halves.
__device__ __forceinline__ std::uint32_t pair_of_byte(std::uint32_t bytes, int index,
                                                      std::uint32_t high) {
  return __byte_perm(bytes, high, 0x4040U + 0x0101U * static_cast<std::uint32_t>(index));
}

template <>
struct ZeroPoints<F16> {
  std::uint32_t first = 0xe408e408U;   ///< -(1024 + 8)
  std::uint32_t second = 0xd480d480U;  ///< -(64 + 8)

  ZeroPoints() = default;
  /// From bytes 2·tile (row g) and 2·tile+1 (row g+8).
  __device__ __forceinline__ ZeroPoints(std::uint32_t bytes, int tile)
      : first(pair_of_byte(bytes, 2 * tile, 0xe4U)),
        second(F16::add(pair_of_byte(bytes, 2 * tile + 1, 0xe4U), 0x63806380U)) {}  // + 960
};

template <>
struct ZeroPoints<BF16> {
  std::uint32_t first = 0xc308c308U;  ///< -(128 + 8)
  std::uint32_t second = 0xc308c308U;

  ZeroPoints() = default;
  __device__ __forceinline__ ZeroPoints(std::uint32_t bytes, int tile)
      : first(pair_of_byte(bytes, 2 * tile, 0xc3U)),
        second(pair_of_byte(bytes, 2 * tile + 1, 0xc3U)) {}
};

/// (word & mask) | bits, as the one instruction it is.
__device__ __forceinline__ std::uint32_t insert(std::uint32_t word, std::uint32_t mask,
                                                std::uint32_t bits) {
  std::uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(d) : "r"(word), "r"(mask), "r"(bits));
  return d;
}

template <class T>
__device__ __forceinline__ Fragment16x16 centred(std::uint32_t word, const ZeroPoints<T>& zeros);

template <>
__device__ __forceinline__ Fragment16x16 centred<F16>(std::uint32_t word,
                                                      const ZeroPoints<F16>& zeros) {
  // The odd nibbles stay in place, as 1024 + 16 q; the fma's 1/16 puts them right.
  const std::uint32_t upper = word >> 8;
  return {{F16::add(insert(word, 0x000f000fU, 0x64006400U), zeros.first),
           F16::fma(insert(word, 0x00f000f0U, 0x64006400U), 0x2c002c00U, zeros.second),
           F16::add(insert(upper, 0x000f000fU, 0x64006400U), zeros.first),
           F16::fma(insert(upper, 0x00f000f0U, 0x64006400U), 0x2c002c00U, zeros.second)}};
}

template <>
__device__ __forceinline__ Fragment16x16 centred<BF16>(std::uint32_t word,
                                                       const ZeroPoints<BF16>& zeros) {
  constexpr std::uint32_t one = 0x3f803f80U;
  return {{BF16::fma(insert(word, 0x000f000fU, 0x43004300U), one, zeros.first),
           BF16::fma(insert(word >> 4, 0x000f000fU, 0x43004300U), one, zeros.second),
           BF16::fma(insert(word >> 8, 0x000f000fU, 0x43004300U), one, zeros.first),
           BF16::fma(insert(word >> 12, 0x000f000fU, 0x43004300U), one, zeros.second)}};
}

/// The scales of a lane's fragment, rows g and g+8, each in both halves.
struct ScalePairs {
  std::uint32_t first;
  std::uint32_t second;

  /// From the two as they lie in the frame: g in the low half, g+8 in the high one.
  __device__ __forceinline__ explicit ScalePairs(std::uint32_t scales)
      : first(__byte_perm(scales, 0U, 0x1010U)), second(__byte_perm(scales, 0U, 0x3232U)) {}
};

/// Rounds scale · (q - z) to the element type, once. The addend -0 keeps a product's signed zero.
template <class T>
__device__ __forceinline__ Fragment16x16 scaled(const Fragment16x16& weights,
                                                const ScalePairs& scales) {
  constexpr std::uint32_t minus_zero = 0x80008000U;
  return {{T::fma(weights.r[0], scales.first, minus_zero),
           T::fma(weights.r[1], scales.second, minus_zero),
           T::fma(weights.r[2], scales.first, minus_zero),
           T::fma(weights.r[3], scales.second, minus_zero)}};
}

}  // namespace bitgate::kernels::device
