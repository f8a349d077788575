#include <fmt/format.h>

#include <algorithm>

#include "conformance/check/checks.h"

namespace bitgate::conformance {
namespace {

constexpr double kWorthSaying = 0.5;
constexpr std::size_t kMostHypotheses = 3;

std::string share_text(std::int64_t explained, std::int64_t of) {
  if (explained == of) return "all";
  return fmt::format(
      "{:.1f} %", std::min(99.9, 100.0 * static_cast<double>(explained) / static_cast<double>(of)));
}

}  // namespace

std::vector<Diagnosis> diagnose(const Problem& problem, const Execution& execution,
                                oracle::WeightForm form, const Comparison& comparison) {
  std::vector<Diagnosis> found;
  const auto unwritten = static_cast<std::int64_t>(execution.unwritten.count);
  if (unwritten > 0 && comparison.wrong > 0) {
    found.push_back(
        {.hypothesis = "not_written",
         .explains = share_text(std::min(unwritten, comparison.wrong), comparison.wrong),
         .variant = {}});
  }
  std::vector<oracle::WrongElement> elements = comparison.sample;
  std::erase_if(elements, [&](const oracle::WrongElement& element) {
    return !is_finite(problem.spec.type, element.got);
  });
  if (elements.empty()) return found;
  for (const oracle::Explanation& explanation : oracle::explain(
           problem.layer, problem.matrix, activations_of(problem), form, elements, kWorthSaying)) {
    if (found.size() == kMostHypotheses) break;
    const oracle::Hypothesis& hypothesis = *explanation.hypothesis;
    found.push_back({.hypothesis = hypothesis.name,
                     .explains = share_text(explanation.explained, explanation.of),
                     .variant = hypothesis.variant});
  }
  return found;
}

}  // namespace bitgate::conformance
