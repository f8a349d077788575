// A has a single 1 a row, on consecutive k rotated by the seed: each output is one weight, scale
// times (q - z) rounded once. Scales have all their mantissa bits. The first columns hold the codes
// that a sign error moves most: 15, 8, 0 and 7 in turn.

#include <array>

#include "conformance/problem/fill.h"
#include "reference/numeric/half.h"
#include "reference/support/random.h"

namespace bitgate::conformance {

void fill_probe_identity(Problem& problem) {
  formats::QuantizedMatrix& matrix = problem.matrix;
  Random random(problem.spec.seed, "probe_identity");
  const ZeroRange range = zero_range(problem.spec.zero);
  for (std::uint8_t& q : matrix.q) q = static_cast<std::uint8_t>(random.below(16));
  for (std::uint8_t& z : matrix.z) {
    z = static_cast<std::uint8_t>(random.between(range.low, range.high));
  }
  for (std::uint16_t& scale : matrix.scales) {
    scale = numeric::round_to(matrix.scale_type, 0.01 * (0.5 + random.uniform()));
  }
  constexpr std::array<std::uint8_t, 4> kTraps{15, 8, 0, 7};
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    for (std::int64_t n = 0; n < std::min<std::int64_t>(matrix.n, 4); ++n) {
      matrix.q[static_cast<std::size_t>(k * matrix.n + n)] =
          kTraps[static_cast<std::size_t>((k + n) % 4)];
    }
  }
  if (matrix.k == 0) return;
  const std::uint16_t one = numeric::round_to(problem.spec.type, 1.0);
  const auto first = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(matrix.k)));
  for (std::int64_t row = 0; row < problem.spec.m; ++row) {
    const std::int64_t k = (first + row) % matrix.k;
    problem.activations[static_cast<std::size_t>(row * matrix.k + k)] = one;
  }
}

}  // namespace bitgate::conformance
