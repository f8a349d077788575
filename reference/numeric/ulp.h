#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "reference/numeric/scalar_type.h"

namespace bitgate::numeric {

/// Distance when exactly one side is NaN: farther than any two numbers are.
inline constexpr std::uint64_t kNanDistance = std::numeric_limits<std::uint64_t>::max();

namespace detail {
constexpr std::uint64_t distance(std::uint32_t a, std::uint32_t b, std::uint32_t sign,
                                 std::uint32_t infinity) {
  const auto ordered = [sign](std::uint32_t bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
    return (bits & sign) != 0 ? -magnitude : magnitude;
  };
  const bool a_nan = (a & (sign - 1)) > infinity;
  const bool b_nan = (b & (sign - 1)) > infinity;
  if (a_nan || b_nan) return a_nan && b_nan ? 0 : kNanDistance;
  const std::int64_t difference = ordered(a) - ordered(b);
  return static_cast<std::uint64_t>(difference < 0 ? -difference : difference);
}
}  // namespace detail

/// How many representable values of a 16-bit type apart two elements are, by their bits. +0 and -0
/// are 0 apart, two NaNs too; infinity follows the largest finite number.
constexpr std::uint64_t ulp_distance(ScalarType type, std::uint16_t a, std::uint16_t b) {
  return detail::distance(a, b, 0x8000U, type == ScalarType::bf16 ? 0x7f80U : 0x7c00U);
}

constexpr std::uint64_t ulp_distance(float a, float b) {
  return detail::distance(std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b),
                          0x80000000U, 0x7f800000U);
}

/// The spacing of a type's numbers at |value|: 2^(e - fraction bits), that of the subnormals near
/// zero. `value` finite.
double ulp_of(ScalarType type, double value);

}  // namespace bitgate::numeric
