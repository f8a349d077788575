#include "ci/suite/case_plan.h"

#include <iterator>
#include <utility>

#include "ci/suite/real_weights.h"
#include "ci/suite/workspace.h"

namespace bitgate::suite {

namespace {

/// Cases of its own (edges and generated) that each kernel gets, and that all kernels together get
/// more of when they are few.
constexpr std::uint64_t kLeastOfAKernel = 42;

}  // namespace

CasePlan plan_cases(const KernelList& kernels, std::vector<std::filesystem::path> checkpoints,
                    std::uint64_t seed, int multiprocessors) {
  CasePlan plan;
  const auto add = [&](std::vector<PlannedCase> cases) {
    plan.fixed.insert(plan.fixed.end(), std::make_move_iterator(cases.begin()),
                      std::make_move_iterator(cases.end()));
  };
  add(corpus_cases(corpus_folder(), kernels));
  if (checkpoints.empty()) {
    checkpoints =
        built_in_checkpoints(model_file(), cache_folder() / "checkpoints", plan.no_weights);
  }
  add(real_weight_cases(checkpoints, kernels, multiprocessors));
  add(edge_cases(kernels));
  plan.generated = generated_cases(kernels, seed, plan.fixed, kLeastOfAKernel);
  return plan;
}

}  // namespace bitgate::suite
