#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "reference/numeric/scalar_type.h"

namespace bitgate::numeric {

/// IEEE 754 binary16 by its bits. Conversions round once, to nearest even; a NaN becomes the
/// canonical 0x7fff, as it does on the GPU.
struct Half {
  std::uint16_t bits = 0;
};

/// bfloat16 by its bits: the upper half of an f32. Same rounding, same canonical NaN 0x7fff.
struct BFloat16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(Half h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000U) << 16;
  const std::uint32_t exponent = (h.bits >> 10) & 31U;
  const std::uint32_t mantissa = h.bits & 0x3ffU;
  if (exponent == 31) {
    return std::bit_cast<float>(mantissa != 0 ? 0x7fffffffU : (sign | 0x7f800000U));
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

constexpr float to_float(BFloat16 b) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16);
}

/// One rounding to nearest even from f64 (an f32 converts exactly), so that no double rounding can
/// creep in.
Half to_half(double value);
BFloat16 to_bfloat16(double value);

/// Reads or rounds an element of either 16-bit type given as bits.
float to_float(ScalarType type, std::uint16_t bits);
/// Reads `count` elements (AVX2). A NaN comes out as some NaN.
void to_float(ScalarType type, const std::uint16_t* bits, std::size_t count, float* out);
std::uint16_t round_to(ScalarType type, double value);

}  // namespace bitgate::numeric
