#include <fmt/format.h>

#include "conformance/check/checks.h"

namespace bitgate::conformance {

CheckResult check_written(const Problem& problem, const Execution& execution) {
  CheckResult result{.name = "written", .verdict = Verdict::pass, .message = {}};
  if (execution.unwritten.count == 0) return result;
  result.verdict = Verdict::fail;
  const auto n = static_cast<std::uint64_t>(problem.spec.n);
  result.message = fmt::format("{} of {} outputs were not written; the first is row {} column {}",
                               execution.unwritten.count, execution.output.size(),
                               execution.unwritten.first / n, execution.unwritten.first % n);
  return result;
}

}  // namespace bitgate::conformance
