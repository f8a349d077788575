#include "reference/oracle/replay.h"

#include <fmt/format.h>

#include "conformance/check/checks.h"

namespace bitgate::conformance {

oracle::Activations activations_of(const Problem& problem) {
  return {.type = problem.spec.type,
          .m = problem.spec.m,
          .k = problem.spec.k,
          .lda = problem.spec.k,
          .bits = problem.activations};
}

Judged check_replay(const Problem& problem, const Selection& selection,
                    const oracle::Arithmetic& arithmetic, const numeric::TensorModel& model,
                    bool strict_model, const Execution& execution,
                    std::vector<std::uint16_t>& want) {
  const std::vector<std::int32_t> order = formats::sort_by_group(problem.matrix);
  const oracle::Activations a = activations_of(problem);
  want = selection.whole ? oracle::replay(arithmetic, model, a, problem.matrix, order)
                         : oracle::replay(arithmetic, model, a, problem.matrix, order,
                                          selection.rows, selection.cols);
  Comparison comparison =
      compare_bits(problem.spec.type, selection, problem.spec.n, execution.output, want);
  CheckResult check = verdict_of(comparison, "replay", problem.spec.type, selection);
  const std::int64_t missing = oracle::positions_missing(arithmetic, problem.spec.k);
  if (missing > 0) {
    check.verdict = Verdict::fail;
    check.message = fmt::format("the declared arithmetic does not use {} of {} positions once",
                                missing, problem.spec.k);
  } else if (check.verdict == Verdict::fail && !model.measured && !strict_model) {
    check.verdict = Verdict::untrusted;
    check.message += fmt::format("; the tensor model '{}' is published, not measured", model.name);
  }
  return {std::move(check), std::move(comparison), 0.0};
}

}  // namespace bitgate::conformance
