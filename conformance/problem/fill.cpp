#include "conformance/problem/fill.h"

#include <algorithm>
#include <array>

#include "reference/numeric/half.h"
#include "reference/support/random.h"

namespace bitgate::conformance {
namespace {

constexpr std::array kFills{
    FillRow{Fill::exact, "small integers whose sums every order gets right", Judge::exact,
            fill_exact},
    FillRow{Fill::real, "weights and activations with realistic spread and outliers", Judge::replay,
            fill_real},
    FillRow{Fill::probe_identity, "A selects rows of W: the output is the dequantised W",
            Judge::exact, fill_probe_identity},
    FillRow{Fill::probe_ones, "W is 1 and A is 1 on a stratified subset: the output counts k",
            Judge::exact, fill_probe_ones},
    FillRow{Fill::probe_columns, "the zero points spell the column number, and so does the output",
            Judge::exact, fill_probe_columns},
    FillRow{Fill::probe_scales, "a power of two per scale, and the output is one scale",
            Judge::exact, fill_probe_scales},
    FillRow{Fill::checkpoint, "a layer of a checkpoint, activations as in real", Judge::replay,
            fill_checkpoint}};

}  // namespace

std::span<const FillRow> fills() { return kFills; }

const FillRow& row_of(Fill fill) { return *std::ranges::find(kFills, fill, &FillRow::fill); }

ZeroRange zero_range(ZeroKey zero) {
  switch (zero) {
    case ZeroKey::sym:
      return {8, 8};
    case ZeroKey::gptq_v1:
      return {1, 16};
    case ZeroKey::gptq_v2:
    case ZeroKey::awq:
      break;
  }
  return {0, 15};
}

void select_one_index_per_row(Problem& problem, std::string_view purpose) {
  const formats::QuantizedMatrix& matrix = problem.matrix;
  if (matrix.k == 0) return;
  Random random(problem.spec.seed, purpose);
  const std::vector<std::int32_t> order = formats::sort_by_group(matrix);
  const std::uint16_t one = numeric::round_to(problem.spec.type, 1.0);
  const auto first =
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(matrix.groups())));
  for (std::int64_t row = 0; row < problem.spec.m; ++row) {
    const std::int64_t g = (first + row) % matrix.groups();
    const std::int64_t p = g * matrix.group + random.between(0, matrix.group - 1);
    const std::int64_t k = order[static_cast<std::size_t>(p)];
    problem.activations[static_cast<std::size_t>(row * matrix.k + k)] = one;
  }
}

}  // namespace bitgate::conformance
