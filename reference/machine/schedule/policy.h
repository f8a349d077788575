#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/machine/exec/context.h"
#include "reference/machine/machine.h"
#include "reference/machine/program/code.h"
#include "reference/machine/schedule/schedule.h"
#include "reference/support/random.h"

namespace bitgate::machine {

/// Carries out the Schedule of one seed for one launch: the order of blocks, how many are live from
/// the start, which warp goes next and for how long, whether asynchronous copies are early or late.
class Policy {
 public:
  Policy(const Code& code, const Launch& launch, const Options& options, std::uint64_t blocks);

  const Schedule& schedule() const { return schedule_; }

  /// Number of the i-th block to start.
  std::uint64_t block(std::uint64_t i) const;
  /// Blocks that may be live at once.
  std::uint32_t residency() const { return residency_; }
  /// Blocks started before any has run; more are started as those use up their turns.
  std::uint32_t initial_blocks() const { return initial_blocks_; }
  bool eager_copies() const { return schedule_.early_copies; }
  /// Instructions that a block may run before another has its turn.
  std::uint64_t block_turn() const { return block_turn_; }
  /// Which of `count` live blocks goes on, after `current` has used up its turn.
  std::size_t next_block(std::size_t current, std::size_t count);

  void start_block(Block& block);
  /// The warp whose turn it is, among those that can go on; none if none can.
  std::optional<std::size_t> next_warp(Block& block);
  /// Instructions of the next warp's turn.
  std::uint32_t warp_turn();
  /// The warp used up its turn.
  void used_up(Block& block, std::size_t warp);

 private:
  Schedule schedule_;
  bool seeded_;
  Random random_;
  std::uint64_t blocks_;
  std::uint32_t residency_;
  std::uint32_t initial_blocks_ = 1;
  std::uint64_t block_turn_;
  std::uint32_t warp_turn_;
  std::vector<std::uint32_t> shuffled_;
};

/// Host memory that a live block takes.
std::uint64_t block_bytes(const Code& code, const Launch& launch);

/// Blocks of this shape that fit one multiprocessor of an H200 (2048 threads, 32 blocks, 228 KiB).
std::uint32_t blocks_per_multiprocessor(std::uint32_t threads, std::uint32_t shared_bytes);

}  // namespace bitgate::machine
