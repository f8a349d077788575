#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "conformance/run_case.h"
#include "fuzz/classes.h"
#include "fuzz/generate.h"

namespace bitgate::fuzz {

struct FuzzOptions {
  std::vector<const Kernel*> kernels;  ///< taken in turn
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> cases;  ///< end after as many,
  std::optional<double> seconds;       ///< or after this long; neither: after the first failure
  unsigned threads = 1;
  GenerateOptions generate;
  conformance::CaseOptions case_options;
  std::function<bool()> interrupted;  ///< asked between cases
  /// Told of each case in order; for progress.
  std::function<void(const conformance::CaseResult&)> ran;
};

/// What one failing case came to.
struct FuzzFailure {
  std::uint64_t index = 0;  ///< number of the case, from 0
  const Kernel* kernel = nullptr;
  conformance::CaseResult found;   ///< as generated
  conformance::CaseResult shrunk;  ///< the smallest that still fails
  Spec shrunk_spec;
  int shrink_runs = 0;
};

struct FuzzOutcome {
  std::uint64_t cases = 0;  ///< judged, up to and with the first failing one
  double seconds = 0;
  ClassCount classes;
  std::uint64_t untrusted = 0;
  std::uint64_t unsupported = 0;  ///< inside the domain: a failure of the kernel's claim
  bool interrupted = false;
  std::optional<FuzzFailure> failure;
};

/// Searches for a failing case (`fail`, or `unsupported` inside the domain), ends at the first in
/// the order of generation and shrinks it. The same seed gives the same failure with any number of
/// threads. `make_device` is called once on each thread.
FuzzOutcome fuzz(const FuzzOptions& options,
                 const std::function<std::unique_ptr<kernels::Device>()>& make_device);

}  // namespace bitgate::fuzz
