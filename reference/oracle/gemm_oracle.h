#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/formats/quantized_matrix.h"
#include "reference/oracle/activations.h"
#include "reference/oracle/arithmetic.h"

namespace bitgate::oracle {

/// A·W in f64 with an error bound for each element, [m][n] or [rows][cols].
///
/// The bound is for a kernel that declares nothing but its weight form and that accumulates in f32.
/// It is a *running* one, taken a posteriori along the oracle's own partial sums s_1, s_2, …, one
/// after each 16 positions, walked in k order sorted by group:
///
///     bound = 2^-20 · Σ_i max(|s_{i-1}|, |s_i|)
///
/// Derivation. Two ways of adding 16 products to an accumulator s have to be covered.
/// - A chain of 16 f32 additions or fmas, nearest even: each errs by at most half an ulp of its
///   partial sum, 2^-24·|s| each, so 16·2^-24 = 2^-20 of |s| a step.
/// - A tensor-core step: 17 terms cut toward zero at 2^-F of the largest (F ≥ 24 for all models
///   since Turing, in two halves on Ampere), and the sum cut to 24 bits, at most 2^-23·|s|. With
///   the accumulator as the largest term its own cut is exact, and 16·2^-24 + 2^-23 = 2.25·2^-20 in
///   the worst case, where every term loses almost a unit; the terms lose half of one on average.
/// Scalings by group add one rounding a group, and a split one a join: less than the chain's, which
/// they shorten. Rounding to the output type comes on top and is not part of the bound: compare
/// with accepts().
///
/// It rests on the kernel's partial sums being of the oracle's size: that holds for any order in
/// which no partial sum is much larger than these, and not for one that sums q·a and z·a apart or
/// in 16 bits. Such a kernel has to declare its arithmetic and is judged by its replay.
struct OracleResult {
  std::vector<double> value;
  std::vector<double> bound;
};

OracleResult gemm_oracle(const Activations& a, const formats::QuantizedMatrix& w, WeightForm form);
OracleResult gemm_oracle(const Activations& a, const formats::QuantizedMatrix& w, WeightForm form,
                         std::span<const std::int64_t> rows, std::span<const std::int64_t> cols);

/// Whether `bits` can be the rounding to `type` of some number within `bound` of `value`. NaN only
/// where the value is NaN.
bool accepts(numeric::ScalarType type, std::uint16_t bits, double value, double bound);

}  // namespace bitgate::oracle
