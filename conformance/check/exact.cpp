#include "conformance/check/checks.h"
#include "conformance/check/exact_reference.h"

namespace bitgate::conformance {

Judged check_exact(const Problem& problem, const Selection& selection, const Execution& execution,
                   std::vector<std::uint16_t>& want) {
  if (selection.whole) {
    want = exact_outputs(problem.matrix, problem.spec.m, problem.activations);
  } else {
    const SelectedOperands selected = select_operands(problem, selection);
    want = exact_outputs(selected.matrix, static_cast<std::int64_t>(selection.rows.size()),
                         selected.activations);
  }
  Comparison comparison =
      compare_bits(problem.spec.type, selection, problem.spec.n, execution.output, want);
  CheckResult check = verdict_of(comparison, "exact", problem.spec.type, selection);
  return {std::move(check), std::move(comparison), 0.0};
}

}  // namespace bitgate::conformance
