#include <fmt/format.h>

#include <algorithm>

#include "conformance/check/checks.h"

namespace bitgate::conformance {

CheckResult check_rerun(const Problem& problem, const Execution& execution) {
  CheckResult result{.name = "rerun", .verdict = Verdict::pass, .message = {}};
  const auto& first = execution.output;
  const auto& second = execution.rerun_output;
  const auto different = std::ranges::mismatch(first, second);
  if (different.in1 == first.end()) return result;
  std::size_t count = 0;
  for (std::size_t i = 0; i < first.size(); ++i) count += first[i] != second[i] ? 1U : 0U;
  const std::int64_t at = different.in1 - first.begin();
  result.verdict = Verdict::fail;
  result.message = fmt::format(
      "{} of {} outputs differ in a second launch; the first, row {} column {}, was {}, then {}",
      count, first.size(), at / problem.spec.n, at % problem.spec.n,
      bits_text(problem.spec.type, *different.in1), bits_text(problem.spec.type, *different.in2));
  return result;
}

}  // namespace bitgate::conformance
