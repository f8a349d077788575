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

template <class T>
__device__ __forceinline__ Fragment16x16 centred(std::uint32_t word, const ZeroPoints<T>& zeros);

template <>
__device__ __forceinline__ Fragment16x16 centred<F16>(std::uint32_t word,
                                                      const ZeroPoints<F16>& zeros) {
  // The odd nibbles stay in place, as 1024 + 16 q; the fma's 1/16 puts them right.
  const std::uint32_t upper = word >> 8;
  return {{F16::add((word & 0x000f000fU) | 0x64006400U, zeros.first),
           F16::fma((word & 0x00f000f0U) | 0x64006400U, 0x2c002c00U, zeros.second),
           F16::add((upper & 0x000f000fU) | 0x64006400U, zeros.first),
           F16::fma((upper & 0x00f000f0U) | 0x64006400U, 0x2c002c00U, zeros.second)}};
}

template <>
__device__ __forceinline__ Fragment16x16 centred<BF16>(std::uint32_t word,
                                                       const ZeroPoints<BF16>& zeros) {
  constexpr std::uint32_t one = 0x3f803f80U;
  return {{BF16::fma((word & 0x000f000fU) | 0x43004300U, one, zeros.first),
           BF16::fma(((word >> 4) & 0x000f000fU) | 0x43004300U, one, zeros.second),
           BF16::fma(((word >> 8) & 0x000f000fU) | 0x43004300U, one, zeros.first),
           BF16::fma(((word >> 12) & 0x000f000fU) | 0x43004300U, one, zeros.second)}};
}

/// A lane's four scales of 32 columns, as they lie in the frame: tile 0 rows g, g+8, tile 1
/// likewise.
struct ScalePairs {
  std::uint32_t tile[2];
};

/// Rounds scale · (q - z) to the element type, once. The addend -0 keeps a product's signed zero.
template <class T>
__device__ __forceinline__ Fragment16x16 scaled(const Fragment16x16& weights,
                                                std::uint32_t scales) {
  const std::uint32_t first = __byte_perm(scales, 0U, 0x1010U);
  const std::uint32_t second = __byte_perm(scales, 0U, 0x3232U);
  constexpr std::uint32_t minus_zero = 0x80008000U;
  return {{T::fma(weights.r[0], first, minus_zero), T::fma(weights.r[1], second, minus_zero),
           T::fma(weights.r[2], first, minus_zero), T::fma(weights.r[3], second, minus_zero)}};
}

}  // namespace bitgate::kernels::device
