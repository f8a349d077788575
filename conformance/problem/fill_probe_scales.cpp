// A power of two per scale, different between neighbouring groups and columns; every weight's
// q - z is 1, and a row of A is 1 at a single k: the output is the scale of that k's group, and a
// row taken from another group or column shows which.

#include <cmath>

#include "conformance/problem/fill.h"
#include "reference/numeric/half.h"
#include "reference/support/random.h"

namespace bitgate::conformance {

void fill_probe_scales(Problem& problem) {
  formats::QuantizedMatrix& matrix = problem.matrix;
  Random random(problem.spec.seed, "probe_scales");
  const ZeroRange range = zero_range(problem.spec.zero);
  for (std::uint8_t& z : matrix.z) {
    z = static_cast<std::uint8_t>(
        random.between(range.low, std::min<std::int64_t>(range.high, 14)));
  }
  // 2^-14 … 2^14 are normal numbers of both types; 11 is coprime to their number, so that walking
  // along a column meets all of them before one comes back.
  constexpr std::int64_t kExponents = 29;
  for (std::int64_t g = 0; g < matrix.groups(); ++g) {
    for (std::int64_t n = 0; n < matrix.n; ++n) {
      const auto exponent = static_cast<int>((11 * g + n) % kExponents) - 14;
      matrix.scales[static_cast<std::size_t>(g * matrix.n + n)] =
          numeric::round_to(matrix.scale_type, std::ldexp(1.0, exponent));
    }
  }
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    const std::int64_t g = matrix.g_idx[static_cast<std::size_t>(k)];
    for (std::int64_t n = 0; n < matrix.n; ++n) {
      matrix.q[static_cast<std::size_t>(k * matrix.n + n)] =
          static_cast<std::uint8_t>(matrix.z[static_cast<std::size_t>(g * matrix.n + n)] + 1);
    }
  }
  select_one_index_per_row(problem, "probe_scales");
}

}  // namespace bitgate::conformance
