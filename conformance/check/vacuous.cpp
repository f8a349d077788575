#include <fmt/format.h>

#include <algorithm>

#include "conformance/check/checks.h"

namespace bitgate::conformance {
namespace {

constexpr double kMostZeros = 0.5;
constexpr double kLeastFinite = 0.5;

}  // namespace

CheckResult check_vacuous(const Problem& problem, const Selection& selection,
                          std::span<const std::uint16_t> want, const Execution& execution) {
  CheckResult result{.name = "vacuous", .verdict = Verdict::pass, .message = {}};
  const numeric::ScalarType type = problem.spec.type;
  const auto total = static_cast<double>(want.size());
  const auto zeros =
      static_cast<double>(std::ranges::count_if(want, [](auto b) { return (b & 0x7fffU) == 0; }));
  const auto finite =
      static_cast<double>(std::ranges::count_if(want, [&](auto b) { return is_finite(type, b); }));
  // A shrunk case keeps as little as still fails: only if nothing is left could it not fail.
  const bool shrunk = !problem.spec.keep.empty();
  if (shrunk ? zeros == total : zeros > kMostZeros * total) {
    result.verdict = Verdict::untrusted;
    result.message = fmt::format("{} of {} expected outputs are zero", zeros, total);
  } else if (finite < kLeastFinite * total) {
    result.verdict = Verdict::untrusted;
    result.message = fmt::format("only {} of {} expected outputs are finite", finite, total);
  } else if (!selection.whole) {
    const auto other =
        std::ranges::count_if(execution.output, [&](auto b) { return !is_finite(type, b); });
    if (other > 0) {
      result.verdict = Verdict::fail;
      result.message =
          fmt::format("{} of {} outputs are not finite", other, execution.output.size());
    }
  }
  return result;
}

}  // namespace bitgate::conformance
