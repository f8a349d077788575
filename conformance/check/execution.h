#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/problem/problem.h"
#include "kernels/device/guarded_buffer.h"
#include "kernels/w4a16/w4a16.h"

namespace bitgate::conformance {

/// How to run a case.
struct ExecutionOptions {
  kernels::LaunchOptions launch;
  kernels::w4a16::Adapter adapter;
  const kernels::Code* code = nullptr;  ///< in place of the kernel's own
  bool rerun = true;
};

/// What the launches of a case left behind: all that the checks look at.
struct Execution {
  /// Why there is no launch to look at: the repack or the launch code refused its input.
  std::optional<std::string> refused;
  bool launched = false;
  kernels::LaunchOutcome outcome;
  std::vector<std::uint16_t> output;  ///< [m][n] bits, poison where nothing was written
  kernels::GuardedBuffer::Unwritten unwritten;
  std::vector<std::string> damage;       ///< a sentence for each buffer that was changed outside
  std::vector<std::string> overwritten;  ///< a sentence for each input that was changed
  /// Of the first launch, with the rows and columns of matrices in them; the rerun looks for none.
  std::vector<machine::hazard::Report> hazards;
  std::optional<kernels::LaunchOutcome> rerun_outcome;
  std::vector<std::uint16_t> rerun_output;
};

/// Repacks, uploads into guarded buffers, launches, and launches once more on a poisoned output if
/// asked. On the machine the second launch takes another schedule: with the same one it could not
/// differ. Throws std::bad_alloc and DeviceLost only.
Execution execute(const Problem& problem, const kernels::Kernel& kernel, kernels::Device& device,
                  const ExecutionOptions& options);

}  // namespace bitgate::conformance
