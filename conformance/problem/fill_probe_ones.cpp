// Every weight is 1 (scale 1, q one above a zero point that varies), and each row of A is 1 on
// every stride-th k, so that the output is how many k were summed: a lost step, a step counted
// twice and a tail that was read on are numbers off by what was lost or added. The stride keeps the
// count below the output type's integers and differs between neighbouring rows.

#include "conformance/problem/fill.h"
#include "conformance/problem/fill_exact.h"
#include "reference/numeric/half.h"
#include "reference/support/random.h"

namespace bitgate::conformance {

void fill_probe_ones(Problem& problem) {
  formats::QuantizedMatrix& matrix = problem.matrix;
  Random random(problem.spec.seed, "probe_ones");
  const ZeroRange range = zero_range(problem.spec.zero);
  for (std::uint8_t& z : matrix.z) {
    z = static_cast<std::uint8_t>(
        random.between(range.low, std::min<std::int64_t>(range.high, 14)));
  }
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    const std::int64_t g = matrix.g_idx[static_cast<std::size_t>(k)];
    for (std::int64_t n = 0; n < matrix.n; ++n) {
      matrix.q[static_cast<std::size_t>(k * matrix.n + n)] =
          static_cast<std::uint8_t>(matrix.z[static_cast<std::size_t>(g * matrix.n + n)] + 1);
    }
  }
  const std::uint16_t one = numeric::round_to(problem.spec.type, 1.0);
  std::ranges::fill(matrix.scales, one);

  const std::int64_t least = matrix.k / ExactFill::output_limit(problem.spec.type) + 1;
  const auto phase = static_cast<std::int64_t>(random.below(1U << 20));
  for (std::int64_t row = 0; row < problem.spec.m; ++row) {
    const std::int64_t stride = least + row % 3;
    for (std::int64_t k = (phase + row) % stride; k < matrix.k; k += stride) {
      problem.activations[static_cast<std::size_t>(row * matrix.k + k)] = one;
    }
  }
}

}  // namespace bitgate::conformance
