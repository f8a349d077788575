#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "conformance/problem/spec.h"
#include "kernels/kernel.h"

namespace bitgate::suite {

/// A case that a gate will run.
struct PlannedCase {
  std::string suite;  ///< "corpus", "real_weights", "edges", "generated"
  conformance::Spec spec;
  const kernels::Kernel* kernel = nullptr;
};

using KernelList = std::vector<const kernels::Kernel*>;

/// The corpus' cases of these kernels. InputError for a line whose kernel does not exist.
std::vector<PlannedCase> corpus_cases(const std::filesystem::path& folder,
                                      const KernelList& kernels);

/// Every layer of the checkpoints once, M in rotation, with the kernel that the plan chooses on
/// that many multiprocessors; where that one is not among `kernels`, one of them that serves the
/// shape, in rotation; none where none does.
std::vector<PlannedCase> real_weight_cases(const std::vector<std::filesystem::path>& checkpoints,
                                           const KernelList& kernels, int multiprocessors);

/// fuzz::edge_cases of each kernel.
std::vector<PlannedCase> edge_cases(const KernelList& kernels);

/// From fuzz::generate, at least 8 a kernel and enough for `least` with the `fixed` ones.
std::vector<PlannedCase> generated_cases(const KernelList& kernels, std::uint64_t seed,
                                         const std::vector<PlannedCase>& fixed,
                                         std::uint64_t least);

}  // namespace bitgate::suite
