#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ci/suite/case_list.h"

namespace bitgate::suite {

/// What a gate runs of some kernels.
struct CasePlan {
  std::vector<PlannedCase> fixed;      ///< corpus, real weights, edges
  std::vector<PlannedCase> generated;  ///< with the edges at least 42 of each kernel's own
  std::string no_weights;              ///< why there are no real weights; empty if there are
};

/// `checkpoints` empty: the model that ci/setup fetches. InputError for a checkpoint that cannot be
/// read.
CasePlan plan_cases(const KernelList& kernels, std::vector<std::filesystem::path> checkpoints,
                    std::uint64_t seed, int multiprocessors);

}  // namespace bitgate::suite
