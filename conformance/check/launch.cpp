#include <fmt/format.h>

#include "conformance/check/checks.h"

namespace bitgate::conformance {
namespace {

Verdict verdict_of_status(kernels::LaunchOutcome::Status status) {
  using Status = kernels::LaunchOutcome::Status;
  switch (status) {
    case Status::completed:
      return Verdict::pass;
    case Status::unsupported:
      return Verdict::unsupported;
    case Status::lost:
      return Verdict::untrusted;
    case Status::fault:
    case Status::timeout:
    case Status::refused:
      break;
  }
  return Verdict::fail;
}

}  // namespace

CheckResult check_launch(const Problem& problem, const Execution& execution) {
  CheckResult result{.name = "launch", .verdict = Verdict::pass, .message = {}};
  const Spec& spec = problem.spec;
  const bool empty = spec.m == 0 || spec.n == 0;
  if (execution.refused) {
    result.verdict = Verdict::fail;
    result.message =
        fmt::format("the call was refused inside the kernel's domain: {}", *execution.refused);
  } else if (execution.launched && empty) {
    result.verdict = Verdict::fail;
    result.message = "a kernel was launched for an empty output";
  } else if (!execution.launched && !empty && spec.k > 0) {
    result.verdict = Verdict::untrusted;
    result.message = "nothing was launched though M, N and K are positive";
  } else if (execution.launched) {
    const bool first = verdict_of_status(execution.outcome.status) != Verdict::pass;
    const kernels::LaunchOutcome& outcome =
        first || !execution.rerun_outcome ? execution.outcome : *execution.rerun_outcome;
    result.verdict = verdict_of_status(outcome.status);
    if (result.verdict != Verdict::pass) {
      result.message = (first ? "" : "the second launch: ") + outcome.message;
    }
  }
  return result;
}

}  // namespace bitgate::conformance
