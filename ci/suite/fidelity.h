#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fuzz/kernel_domain.h"

namespace bitgate::suite {

struct FidelityOptions {
  std::uint64_t cases = 1000;
  std::uint64_t seed = 1;
  std::string kernel_glob = "*";
  const volatile bool* interrupted = nullptr;
  std::function<void()> compared;  ///< after each case; for progress
};

/// A case whose bits differ, or that only one device ran to its end.
struct FidelityDifference {
  conformance::Spec spec;
  std::string kernel;
  std::string machine;  ///< out_sha256, or why there is none
  std::string cuda;
};

struct FidelityOutcome {
  std::string device_description;
  std::string tensor_model;
  std::uint64_t seed = 0;
  std::uint64_t cases = 0;                       ///< compared
  bool complete = false;                         ///< all that were asked for
  std::map<std::string, std::uint64_t> kernels;  ///< cases of each
  std::map<std::string, std::uint64_t> classes;
  std::vector<FidelityDifference> differences;
  double seconds = 0;
};

/// The same generated cases, spread evenly over the kernels, on the machine and on the GPU; the
/// outputs' bits are compared and nothing else judges them. Both run on every core of the host, the
/// machine with the tensor model of the GPU. NoDevice without a GPU.
FidelityOutcome fidelity(const FidelityOptions& options);

}  // namespace bitgate::suite
