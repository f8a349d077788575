#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ci/suite/devices.h"
#include "conformance/report/report.h"

namespace bitgate::suite {

struct GateOptions {
  DeviceChoice device = DeviceChoice::automatic;
  std::string kernel_glob = "*";
  std::filesystem::path ptx;                       ///< empty: the code built in
  std::vector<std::filesystem::path> checkpoints;  ///< empty: the model that ci/setup fetches
  std::optional<double> budget_seconds;
  const numeric::TensorModel* tensor_model = nullptr;
  bool strict_model = false;
  bool use_cache = true;
  std::uint64_t seed = 1;
  bool hazards = true;  ///< look for hazards on the machine; they fail a case
  std::chrono::nanoseconds time_limit = std::chrono::seconds(20);  ///< of one launch
  const volatile bool* interrupted = nullptr;
  /// How many cases are to come, and each case as it is judged; for progress.
  std::function<void(std::uint64_t)> starts;
  std::function<void(const conformance::CaseResult&)> judged;
};

struct GateOutcome {
  conformance::RunSummary summary;
  /// Why there is no green though nothing failed, a sentence each: a budget that ended too early, a
  /// class never hit, no real weights. They are among summary.notes, too.
  std::vector<std::string> not_proven;
};

/// The gate. Fixed cases first: the corpus, the layers of a real model, each kernel's edges; then
/// generated ones, until every kernel has at least 40 of its own. InputError before anything runs
/// for bad options; NoDevice and DeviceLost when there can be no verdict.
GateOutcome run_gate(const GateOptions& options);

/// 0 all proven; 1 something failed, or is unsupported inside its domain; 3 otherwise.
int exit_code(const GateOutcome& outcome);

}  // namespace bitgate::suite
