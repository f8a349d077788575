#pragma once

#include <cstdint>

#include "reference/numeric/scalar_type.h"

namespace bitgate::conformance {

/// The exact fill: every partial sum, in any order, is an integer number of *units* below 2^24 of
/// them, so that f32 accumulation and a tensor core's truncation keep it exactly; every output is
/// below the output type's integers, so that its rounding is exact, too.
///
/// - Scales are 1, 2 or 4 units. In every column the scales of neighbouring groups differ.
/// - Zero points are uniform over what the convention holds.
/// - Activations are 0, ±1 or ±2. Each k is non-zero in up to four of up to 64 *dense* rows, spread
///   over M, which rows they are being random; rows beyond those have three ±1, one in each third
///   of K. In each group some row's activations do not sum to zero.
/// - q is random within what keeps the running sum of every dense row below output_limit: a walk
///   along k that is steered, not a sum that is small by luck.
///
/// **Resolution**: one unit. An operand change that moves an output's exact sum by a unit or more
/// changes that output's bits, because all integers up to output_limit are numbers of the type and
/// rounding is monotone. So q ± 1 wherever the row's activation is not zero is always seen; z ± 1
/// and a neighbour's scale in a group are seen by every row whose activations, or products, of that
/// group do not sum to zero. What a case covers in this sense is counted (coverage.h).
struct ExactFill {
  static constexpr double unit = 0x1p-4;  ///< the smallest scale times the smallest activation
  static constexpr std::int64_t sum_limit = std::int64_t{1} << 24;  ///< units, any partial sum
  static constexpr std::int64_t largest_term = 16 * 4 * 2;          ///< units: |q-z|, scale, |a|

  /// Units that every output stays below: 2048 in f16, 256 in bf16.
  static constexpr std::int64_t output_limit(numeric::ScalarType type) {
    return type == numeric::ScalarType::bf16 ? 256 : 2048;
  }
};

}  // namespace bitgate::conformance
