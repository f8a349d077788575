#pragma once

#include <string>

#include "conformance/check/compare.h"
#include "conformance/check/execution.h"
#include "conformance/check/verdict.h"
#include "conformance/problem/problem.h"

namespace bitgate::conformance {

/// One file a check. To add one: write it, declare it here, call it in run_case.cpp, and give it a
/// test that it rejects something.

/// The launch ran to its end. An empty output launches nothing; nothing launched for one that is
/// not empty is `untrusted` (with K = 0 the other checks say what is missing).
CheckResult check_launch(const Problem& problem, const Execution& execution);

/// The machine found none, where it was asked to look (LaunchOptions::hazards).
CheckResult check_hazards(const Execution& execution);

/// No output still holds the poison.
CheckResult check_written(const Problem& problem, const Execution& execution);

/// No byte outside the output changed, and none of the inputs.
CheckResult check_guards(const Execution& execution);

/// A second launch gave the same bits.
CheckResult check_rerun(const Problem& problem, const Execution& execution);

/// The values could have been wrong: not too many of the expected ones are zero, enough are finite,
/// and where only some are judged the others are finite, too.
CheckResult check_vacuous(const Problem& problem, const Selection& selection,
                          std::span<const std::uint16_t> want, const Execution& execution);

/// What a value check found.
struct Judged {
  CheckResult check;
  Comparison comparison;
  std::optional<double> bound_at_max;
};

/// Against the single rounding of the exact sum.
Judged check_exact(const Problem& problem, const Selection& selection, const Execution& execution,
                   std::vector<std::uint16_t>& want);

/// Against the replay of the declared arithmetic on the tensor model. A model that was not measured
/// proves nothing: with `strict_model` off, differences from it are `untrusted`.
Judged check_replay(const Problem& problem, const Selection& selection,
                    const oracle::Arithmetic& arithmetic, const numeric::TensorModel& model,
                    bool strict_model, const Execution& execution,
                    std::vector<std::uint16_t>& want);

/// Against the fp64 oracle within its running bound, for a kernel that declares nothing. `want` is
/// the oracle's value rounded. A bound wider than the values is `untrusted`.
Judged check_bound(const Problem& problem, const Selection& selection, const Execution& execution,
                   std::vector<std::uint16_t>& want);

/// Which confusions of conventions give the wrong outputs, best first; "not_written" for poison.
std::vector<Diagnosis> diagnose(const Problem& problem, const Execution& execution,
                                oracle::WeightForm form, const Comparison& comparison);

/// A and its type as the oracle reads them.
oracle::Activations activations_of(const Problem& problem);

}  // namespace bitgate::conformance
