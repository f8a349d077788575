#pragma once

#include <cstdint>
#include <string>

namespace bitgate::machine {

/// What a schedule seed stands for. PTX leaves all of this open, and every choice made here is one
/// that a GPU might make: where blocks or warps wait for each other none is kept waiting for ever.
///
/// Any 90 seeds in a row above 0 have every combination once; what else there is to choose (random
/// orders, lengths of turns, which warp is kept back) is drawn from the seed as well. Seed 0 is the
/// plain schedule: blocks ascending, started when those before have run, warps in turn, copies
/// late.
struct Schedule {
  enum class Blocks : std::uint8_t { ascending, descending, random };
  enum class Residency : std::uint8_t {
    one,   ///< a block runs alone, until it has used up its turn
    some,  ///< a few are started together
    all    ///< as many as fit are started together
  };
  enum class Warps : std::uint8_t {
    round_robin,
    random,
    starve_one,  ///< one warp of each block runs only when no other can, and now and then
    /// Strict random priorities, and points at which the running warp falls to the lowest
    /// (Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic
    /// Guarantees of Finding Bugs", ASPLOS 2010): few of them, far apart.
    priority,
    /// The same with many such points, so that warps that spin soon give way.
    fair_priority
  };

  Blocks blocks = Blocks::ascending;
  Residency residency = Residency::one;
  Warps warps = Warps::round_robin;
  bool early_copies = false;  ///< asynchronous copies are carried out when they are issued

  static Schedule of(std::uint64_t seed);
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// "descending blocks, all resident, one warp starved, late copies"
std::string describe(const Schedule& schedule);

}  // namespace bitgate::machine
