// The zero points spell the column: groups with an even number hold its low hexadecimal digit, the
// others its next one, plus what the convention's smallest zero point is. All q are 15, all scales
// 1, and a row of A is 1 at a single k, of a group that the row and the seed choose: the output is
// 15 - zero point, so that columns taken in another order read as such. A symmetric layer has no
// zero points, and q holds the digit instead: the output is digit - 8.

#include "conformance/problem/fill.h"
#include "reference/numeric/half.h"
#include "reference/support/random.h"

namespace bitgate::conformance {

void fill_probe_columns(Problem& problem) {
  formats::QuantizedMatrix& matrix = problem.matrix;
  const bool symmetric = problem.spec.zero == ZeroKey::sym;
  const ZeroRange range = zero_range(problem.spec.zero);
  const auto digit = [](std::int64_t g, std::int64_t n) {
    return static_cast<std::uint8_t>((g % 2 == 0 ? n : n >> 4) & 15);
  };
  for (std::int64_t g = 0; g < matrix.groups(); ++g) {
    for (std::int64_t n = 0; n < matrix.n; ++n) {
      matrix.z[static_cast<std::size_t>(g * matrix.n + n)] =
          static_cast<std::uint8_t>(symmetric ? 8 : range.low + digit(g, n));
    }
  }
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    const std::int64_t g = matrix.g_idx[static_cast<std::size_t>(k)];
    for (std::int64_t n = 0; n < matrix.n; ++n) {
      matrix.q[static_cast<std::size_t>(k * matrix.n + n)] =
          symmetric ? digit(g, n) : std::uint8_t{15};
    }
  }
  const std::uint16_t one = numeric::round_to(problem.spec.type, 1.0);
  std::ranges::fill(matrix.scales, one);
  select_one_index_per_row(problem, "probe_columns");
}

}  // namespace bitgate::conformance
