#include "conformance/check/selection.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "reference/support/random.h"

namespace bitgate::conformance {
namespace {

constexpr std::int64_t kEdge = 16;
constexpr std::int64_t kRows = 192;
constexpr std::int64_t kCols = 1024;

std::vector<std::int64_t> spread(std::int64_t size, std::int64_t count, std::uint64_t seed,
                                 std::string_view purpose) {
  std::vector<std::int64_t> chosen;
  if (size <= count) {
    chosen.resize(static_cast<std::size_t>(size));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  Random random(seed, purpose);
  for (std::int64_t i = 0; i < kEdge; ++i) {
    chosen.push_back(i);
    chosen.push_back(size - 1 - i);
  }
  for (std::int64_t i = 0; i < count - 2 * kEdge; ++i) {
    const std::int64_t begin = size / (count - 2 * kEdge) * i;
    chosen.push_back(begin + random.between(0, size / (count - 2 * kEdge) - 1));
  }
  std::ranges::sort(chosen);
  const auto repeated = std::ranges::unique(chosen);
  chosen.erase(repeated.begin(), repeated.end());
  return chosen;
}

}  // namespace

Selection select_outputs(const Problem& problem) {
  const Spec& spec = problem.spec;
  const auto products = static_cast<double>(spec.m) * static_cast<double>(spec.n) *
                        static_cast<double>(std::max<std::int64_t>(spec.k, 1));
  const bool whole = products <= static_cast<double>(kWholeProducts);
  return {.rows = spread(spec.m, whole ? spec.m : kRows, spec.seed, "judged rows"),
          .cols = spread(spec.n, whole ? spec.n : kCols, spec.seed, "judged columns"),
          .whole = whole};
}

SelectedOperands select_operands(const Problem& problem, const Selection& selection) {
  const formats::QuantizedMatrix& all = problem.matrix;
  SelectedOperands selected;
  formats::QuantizedMatrix& matrix = selected.matrix;
  matrix.k = all.k;
  matrix.n = static_cast<std::int64_t>(selection.cols.size());
  matrix.group = all.group;
  matrix.scale_type = all.scale_type;
  matrix.g_idx = all.g_idx;
  const auto take_columns = [&](const auto& from, std::int64_t rows, auto& to) {
    to.reserve(static_cast<std::size_t>(rows) * selection.cols.size());
    for (std::int64_t row = 0; row < rows; ++row) {
      for (const std::int64_t col : selection.cols) {
        to.push_back(from[static_cast<std::size_t>(row * all.n + col)]);
      }
    }
  };
  take_columns(all.q, all.k, matrix.q);
  take_columns(all.z, all.groups(), matrix.z);
  take_columns(all.scales, all.groups(), matrix.scales);
  for (const std::int64_t row : selection.rows) {
    const auto begin = problem.activations.begin() + row * all.k;
    selected.activations.insert(selected.activations.end(), begin, begin + all.k);
  }
  return selected;
}

}  // namespace bitgate::conformance
