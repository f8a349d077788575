#pragma once

#include <bit>
#include <cstdint>

namespace bitgate::machine {

/// NaN results of an NVIDIA GPU (measured on an H200): f32 results are 0x7fffffff, f16 and bf16
/// 0x7fff; f64 keeps the payload of an operand and sets the quiet bit.

inline constexpr std::uint32_t kNan32 = 0x7fffffffU;
inline constexpr std::uint16_t kNan16 = 0x7fffU;
inline constexpr std::uint64_t kQuietBit64 = 0x0008000000000000ULL;

constexpr bool is_nan(float v) { return v != v; }
constexpr bool is_nan(double v) { return v != v; }

constexpr float canonical(float v) { return is_nan(v) ? std::bit_cast<float>(kNan32) : v; }
constexpr double quiet(double v) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) | kQuietBit64);
}

/// Subnormals to zero of the same sign.
constexpr float flush(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  return (bits & 0x7f800000U) == 0 ? std::bit_cast<float>(bits & 0x80000000U) : v;
}

/// .sat: to [0, 1]; NaN becomes +0, and so does −0.
constexpr float saturate(float v) {
  if (is_nan(v)) return 0.0F;
  if (!(v > 0.0F)) return 0.0F;
  return v > 1.0F ? 1.0F : v;
}

}  // namespace bitgate::machine
