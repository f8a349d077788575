#pragma once

#include <cstdint>
#include <vector>

#include "reference/machine/machine.h"
#include "reference/machine/program/code.h"
#include "reference/support/random.h"

namespace bitgate::machine {

/// Everything about a run that PTX leaves open, decided by one seed: the order of blocks, how many
/// are live from the start, which warp goes next and for how long, whether async copies are early
/// or late. Seed 0: blocks ascending and warps in turn, copies as late as possible.
class Policy {
 public:
  Policy(const Code& code, const Launch& launch, const Options& options, std::uint64_t blocks);

  /// Number of the i-th block to start.
  std::uint64_t block(std::uint64_t i) const;
  /// Blocks that may be live at once.
  std::uint32_t residency() const { return residency_; }
  /// Blocks started before any has run; more are started as those use up their turns.
  std::uint32_t initial_blocks() const { return initial_blocks_; }
  bool eager_copies() const { return eager_copies_; }
  /// Instructions that a block may run before another has its turn.
  std::uint64_t block_turn() const { return block_turn_; }
  /// Instructions of the next warp's turn.
  std::uint32_t warp_turn();
  /// Which of `count` goes next, after `current`.
  std::size_t next(std::size_t current, std::size_t count);

 private:
  bool seeded_;
  Random random_;
  std::uint64_t blocks_;
  std::uint32_t residency_;
  std::uint32_t initial_blocks_ = 1;
  bool eager_copies_ = false;
  std::uint64_t block_turn_;
  std::uint32_t warp_turn_;
  bool descending_ = false;
  std::vector<std::uint32_t> shuffled_;
};

/// Host memory that a live block takes.
std::uint64_t block_bytes(const Code& code, const Launch& launch);

/// Blocks of this shape that fit one multiprocessor of an H200 (2048 threads, 32 blocks, 228 KiB).
std::uint32_t blocks_per_multiprocessor(std::uint32_t threads, std::uint32_t shared_bytes);

}  // namespace bitgate::machine
