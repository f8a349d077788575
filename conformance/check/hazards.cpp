#include <fmt/format.h>

#include "conformance/check/checks.h"

namespace bitgate::conformance {

CheckResult check_hazards(const Execution& execution) {
  CheckResult result{.name = "hazards", .verdict = Verdict::pass, .message = {}};
  const auto& hazards = execution.hazards;
  if (hazards.empty()) return result;
  result.verdict = Verdict::fail;
  const machine::hazard::Report& first = hazards.front();
  result.message =
      fmt::format("{} hazards, the first of kind {}: {} (PTX line {}): {}", hazards.size(),
                  machine::hazard::name(first.kind), first.first.site.instruction,
                  first.first.site.ptx_line, first.message);
  return result;
}

}  // namespace bitgate::conformance
