#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>

namespace bitgate::machine {

/// What runs executed; each run adds to it (Options::coverage).
struct Coverage {
  /// Of one instruction.
  struct Count {
    std::uint64_t executions = 0;  ///< by a warp, in at least one lane
    std::uint64_t partial = 0;     ///< of these: with a lane off
    std::uint64_t skipped = 0;     ///< reached, and its guard held in no lane
    std::uint64_t threads = 0;
    std::uint32_t lanes_on = 0;   ///< that ever executed it
    std::uint32_t lanes_off = 0;  ///< that ever were off while others executed it

    void add(std::uint32_t active) {
      if (active == 0) {
        ++skipped;
        return;
      }
      ++executions;
      if (active != 0xffffffffU) ++partial;
      threads += static_cast<std::uint64_t>(std::popcount(active));
      lanes_on |= active;
      lanes_off |= ~active;
    }
    void add(const Count& other) {
      executions += other.executions;
      partial += other.partial;
      skipped += other.skipped;
      threads += other.threads;
      lanes_on |= other.lanes_on;
      lanes_off |= other.lanes_off;
    }
  };
  /// By line of the PTX text: every instruction of the entry, executed or not. Copies of an inlined
  /// `.func`, and the steps of one instruction, count together.
  using Lines = std::map<std::uint32_t, Count>;

  std::map<std::string, Lines> entries;

  void add(const Coverage& other) {
    for (const auto& [entry, lines] : other.entries) {
      Lines& mine = entries[entry];
      for (const auto& [line, count] : lines) mine[line].add(count);
    }
  }
};

}  // namespace bitgate::machine
