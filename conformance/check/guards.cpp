#include "conformance/check/checks.h"

namespace bitgate::conformance {

CheckResult check_guards(const Execution& execution) {
  CheckResult result{.name = "guards", .verdict = Verdict::pass, .message = {}};
  for (const auto* sentences : {&execution.damage, &execution.overwritten}) {
    for (const std::string& sentence : *sentences) {
      result.verdict = Verdict::fail;
      result.message += (result.message.empty() ? "" : "; ") + sentence;
    }
  }
  return result;
}

}  // namespace bitgate::conformance
