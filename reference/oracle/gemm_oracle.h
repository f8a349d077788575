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
/// It is a *running* one, taken a posteriori along the oracle's own partial sums, one after each 16
/// positions, walked in k order sorted by group. Let L_i be the largest magnitude at hand in step i
/// (the sum before, the sum after, a product) and S_i its positive products less its negative ones:
///
///     bound = 2^-23·Σ L_i + 2^-25·Σ L_i·|S_i| + 6.5·2^-24·sqrt(18·Σ L_i²)
///
/// Derivation. Each rounding is taken as its mean plus an independent deviation within its range.
/// - A chain of 16 f32 additions or fmas to nearest even: mean 0, each within ±2^-24·L.
/// - A tensor-core step: each of 16 terms is cut toward zero at 2^-F of the largest, F ≥ 24 on
/// every
///   model since Turing: it loses between 0 and 2^-24·L, half of it on average, with the term's
///   sign, so that the means add up to 2^-25·L·S. The sum is cut to 24 bits, once or (Ampere)
///   twice: 2^-24·L each on average, of one sign as long as the sum keeps its sign. These means are
///   the first two terms of the bound.
/// - The third bounds what the deviations, at most 18 a step, add up to: Hoeffding's inequality
///   (JASA 58, 1963) for ranges of 2^-23·L, with 6.5 = 2·sqrt(ln(2·10^9)/2), exceeded once in 10^9.
/// Scaling by group adds one rounding a group and a split one a join, and both shorten the chains.
/// Rounding to the output type comes on top and is not part of the bound: compare with accepts().
///
/// It rests on the kernel's partial sums being of the oracle's size: that holds for any order in
/// which no partial sum is much larger than these, and not for one that sums q·a and z·a apart, or
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
