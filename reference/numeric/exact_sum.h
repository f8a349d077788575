#pragma once

#include <array>
#include <cstdint>

#include "reference/numeric/scalar_type.h"

namespace bitgate::numeric {

/// An exact sum of products of two f32 numbers: one fixed-point number of 640 bits whose last bit
/// is 2^-298, the square of f32's smallest subnormal (Kulisch's long accumulator). It cannot
/// overflow within 2^80 terms. Rounds once, when asked.
class ExactSum {
 public:
  /// Adds a·b. InputError unless both are finite.
  void add_product(float a, float b);
  void add(float value) { add_product(value, 1.0F); }

  bool is_zero() const;
  /// The sum rounded once to nearest even; a zero sum is +0.
  double to_double() const;
  float to_float() const;
  /// Bits of an f16 or bf16.
  std::uint16_t round_to(ScalarType type) const;

 private:
  static constexpr int kLimbs = 10;
  static constexpr int kLastBit = -298;

  /// The sum cut to `bits` bits, the last of them set when anything was cut off (round to odd: a
  /// later rounding to bits - 2 or fewer is then as if done on the exact sum), as an f64.
  double rounded_to_odd(int bits) const;

  std::array<std::uint64_t, kLimbs> limbs_{};  // two's complement, least significant first
};

}  // namespace bitgate::numeric
