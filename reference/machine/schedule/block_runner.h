#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "reference/machine/exec/context.h"
#include "reference/machine/schedule/policy.h"

namespace bitgate::machine {

/// Runs blocks of one launch on one host thread. Blocks are recycled: immediates and thread indices
/// are written into a warp's registers once.
class BlockRunner {
 public:
  BlockRunner(const Program::Impl& program, const Code& code, const Launch& launch,
              const Options& options, GlobalMemory& memory, std::span<const std::byte> constants,
              Policy& policy, std::chrono::steady_clock::time_point deadline);
  ~BlockRunner();

  /// Starts block `number` of the grid.
  std::unique_ptr<Block> start(std::uint64_t number);
  /// Gives a finished block's storage back for the next.
  void recycle(std::unique_ptr<Block> block);

  enum class Progress : std::uint8_t { finished, used_up };
  /// Runs a block for its turn. Throws MachineFault, with its site.
  Progress run(Block& block);

  const LaunchState& state() const { return state_; }
  /// Adds what was executed since the start, with Options::coverage.
  void add_coverage(Coverage& coverage) const;
  /// Null where nobody watches.
  hazard::Hazards* hazards() const { return state_.hazards; }

 private:
  std::unique_ptr<Block> make_block();
  void clear(Warp& warp) const;
  void fill_special(Warp& warp, const SpecialPlace& place);
  Fault located(const MachineFault& thrown) const;
  void check_limits();
  [[noreturn]] void report_deadlock(Block& block);

  LaunchState state_;
  std::unique_ptr<hazard::Hazards> hazards_;
  Context context_;
  Policy& policy_;
  std::chrono::steady_clock::time_point deadline_;
  std::uint64_t next_check_ = 0;
  std::uint32_t threads_;
  std::uint32_t shared_bytes_;
  std::vector<std::pair<ConstantPlace, std::uint64_t>> constants_;  ///< with their values resolved
  std::vector<std::unique_ptr<Block>> free_;
  std::vector<Coverage::Count> counts_;  ///< one an op, if they are wanted
};

}  // namespace bitgate::machine
