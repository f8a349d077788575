#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "conformance/problem/spec.h"
#include "kernels/device/device.h"
#include "kernels/kernel.h"

namespace bitgate::suite {

/// Many schedules of one case on the machine, and whether the bits are always the same
/// (reference/machine/schedule/schedule.h says what a seed stands for).
struct ExploreOptions {
  std::uint64_t schedules = 90;  ///< besides the plain one; 90 have every combination of choices
  std::uint64_t first_seed = 1;
  const numeric::TensorModel* tensor_model = nullptr;  ///< null: Hopper
  kernels::LaunchOptions launch;                       ///< time limit, interrupt, residency
  std::function<void()> ran;                           ///< after each schedule; for progress
};

/// One place of one output under two schedules.
struct Divergence {
  std::uint64_t first_seed = 0;
  std::uint64_t second_seed = 0;
  std::string buffer;
  std::uint64_t offset = 0;  ///< bytes
  std::uint64_t bytes = 0;   ///< of the element, or of the aligned word, that holds the difference
  std::string first_value;
  std::string second_value;
  std::uint64_t different_bytes = 0;
  std::optional<std::int64_t> row;  ///< of a case's output
  std::optional<std::int64_t> column;
};

struct ExploreOutcome {
  std::string verdict = "pass";  ///< "fail", "unsupported", "untrusted" (ended early)
  std::string message;           ///< why it is not "pass" and not a divergence; may be empty
  std::uint64_t ran = 0;         ///< schedules, the plain one included
  std::uint64_t distinct = 0;    ///< different outputs among them
  std::optional<Divergence> divergence;  ///< of the lowest seed whose bits are not the plain one's
  /// Schedules that a fault, a deadlock or the time limit ended.
  struct Failure {
    std::uint64_t seed = 0;
    std::string message;
  };
  std::vector<Failure> failures;
  std::string out_sha256;                            ///< of all outputs under the plain schedule
  std::function<std::string(std::uint64_t)> replay;  ///< the command that runs one seed again
};

/// One case of a kernel of ours. Nothing judges the values. InputError where the spec names a
/// schedule itself; `unsupported` outside the kernel's domain.
ExploreOutcome explore(const conformance::Spec& spec, const kernels::Kernel& kernel,
                       const kernels::Code* code, const ExploreOptions& options);

/// A launch file; its output buffers are compared. InputError where it has none, and for all that
/// exec_launch_file refuses.
ExploreOutcome explore(const std::filesystem::path& launch_file,
                       const std::optional<std::filesystem::path>& ptx,
                       const ExploreOptions& options);

/// bitgate.explore/1, without what was explored.
nlohmann::ordered_json explore_document(const ExploreOutcome& outcome,
                                        const ExploreOptions& options);
/// The same for people.
std::string explore_text(const ExploreOutcome& outcome, const ExploreOptions& options);

/// 0 always the same bits; 1 not, or a schedule failed; 3 no verdict.
int exit_code(const ExploreOutcome& outcome);

}  // namespace bitgate::suite
