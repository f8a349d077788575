#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "reference/machine/hazard/clock.h"
#include "reference/machine/hazard/shadow.h"
#include "reference/machine/hazard/traits.h"

namespace bitgate::machine::hazard {

/// What threads know of each other: vector clocks over grid, block, warp and lane, held once for
/// all lanes of a warp that agree.

/// A clock as of one moment of a thread. Its own part is kept as epochs, so that all lanes of a
/// warp share the rest.
struct Snapshot {
  ClockPtr others;
  std::uint32_t epoch = 0;  ///< 0: none was taken
  std::uint32_t async = 0;

  bool empty() const { return epoch == 0 && others == nullptr; }
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

/// What release patterns offer at a place: to threads of a block, whatever the scope of the
/// release, and to all threads if the scope said so.
struct Offer {
  ClockPtr all;
  std::vector<std::pair<std::uint64_t, ClockPtr>> blocks;  ///< by block, the latest few

  void add(std::uint64_t block, Scope scope, const ClockPtr& clock);
  void add(const Offer& other);
  bool covers(const Offer& other) const;
  /// What a thread of `block` may take at `scope`.
  ClockPtr take(std::uint64_t block, Scope scope) const;
  bool empty() const { return all == nullptr && blocks.empty(); }
  friend bool operator==(const Offer&, const Offer&) = default;
};

/// Lanes of a warp that know the same.
struct Group {
  std::uint32_t lanes = 0;
  /// Of each warp of the block: the epoch up to which all its lanes are known; then, of each warp,
  /// the epoch of its copies.
  std::vector<std::uint32_t> seen;
  ClockPtr extra;           ///< of single lanes, and of other blocks
  std::uint32_t async = 0;  ///< epoch up to which each lane knows its own copies

  // By scope. What a later strong write offers, and what a later fence takes.
  Snapshot released[2];
  Offer observed;
  // The sequentially consistent fences that come before this point in every order of theirs: what
  // the next such fence takes.
  Snapshot fences[2];
};

struct WarpClock {
  std::uint32_t number = 0;    ///< in the launch
  std::uint32_t index = 0;     ///< in the block
  std::uint32_t accessed = 0;  ///< that have accessed shared or global memory
  std::uint32_t now = 1;
  std::uint32_t async_now = 1;
  std::vector<Group> groups;
  /// Groups of copies that were committed: their epoch, and by which lanes.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> commits;
  /// Records of the instructions that ran last, by pc.
  static constexpr std::size_t kRecent = 32;
  std::uint32_t recent[kRecent] = {};
  /// Records of runs (Who::run) since its epochs changed: each place that a run begins at has its
  /// own, so that there is a limit to them.
  static constexpr std::uint32_t kMostRuns = 1024;
  std::uint32_t runs = 0;
  std::uint32_t runs_epoch = 0;

  /// The group of exactly `lanes`, which know the same.
  Group& part(Group& group, std::uint32_t lanes_of_group);
  /// Joins groups that know the same.
  void unite();
  /// Up to which epoch a lane's copies are done when its `pending` latest groups are not.
  std::uint32_t copies_done(std::uint32_t lane, std::uint32_t pending) const;
};

}  // namespace bitgate::machine::hazard
