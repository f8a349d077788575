#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/check/checks.h"
#include "reference/numeric/half.h"
#include "reference/oracle/gemm_oracle.h"

namespace bitgate::conformance {
namespace {

/// A check whose bound is a quarter of the signal, or more, lets too much through to say anything.
constexpr double kWidestBound = 0.25;

double root_mean_square(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return values.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

Judged check_bound(const Problem& problem, const Selection& selection, const Execution& execution,
                   std::vector<std::uint16_t>& want) {
  const numeric::ScalarType type = problem.spec.type;
  const oracle::OracleResult truth =
      oracle::gemm_oracle(activations_of(problem), problem.matrix, oracle::WeightForm::integer,
                          selection.rows, selection.cols);
  want.resize(truth.value.size());
  Comparison comparison;
  comparison.judged = selection.size();
  WrongSample sample;
  double bound_at_max = 0;
  std::size_t at = 0;
  for (const std::int64_t row : selection.rows) {
    for (const std::int64_t col : selection.cols) {
      const double value = truth.value[at];
      const double bound = truth.bound[at];
      want[at] = numeric::round_to(type, value);
      const std::uint16_t got =
          execution.output[static_cast<std::size_t>(row * problem.spec.n + col)];
      if (!oracle::accepts(type, got, value, bound)) {
        if (comparison.wrong++ == 0) {
          comparison.first = Difference{.row = row, .col = col, .got = got, .want = want[at]};
        }
        sample.add({.row = row, .col = col, .got = got});
        if (!is_finite(type, got)) comparison.max_error.reset();
      }
      ++at;
      if (!is_finite(type, got) || !comparison.max_error) continue;
      const double error = std::abs(static_cast<double>(numeric::to_float(type, got)) - value);
      if (error >= *comparison.max_error) {
        comparison.max_error = error;
        bound_at_max = bound;
      }
    }
  }
  comparison.sample = sample.take();
  CheckResult check = verdict_of(comparison, "bound", type, selection);
  const double signal = root_mean_square(truth.value);
  const double widest = truth.bound.empty() ? 0.0 : std::ranges::max(truth.bound);
  if (check.verdict == Verdict::pass && widest > kWidestBound * signal) {
    check.verdict = Verdict::untrusted;
    check.message = fmt::format("the widest bound, {}, is more than {} of the signal, {}", widest,
                                kWidestBound, signal);
  }
  return {std::move(check), std::move(comparison), bound_at_max};
}

}  // namespace bitgate::conformance
