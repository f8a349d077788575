#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bitgate::machine::hazard {

/// A sparse vector clock: up to which epoch a warp's threads are known to have come. Each warp
/// counts epochs for its lanes together, and others for the asynchronous copies that they issue;
/// an entry is of one lane or, which is the usual one, of all of them.
class Clock {
 public:
  static constexpr std::uint32_t kAllLanesSlot = 0;
  static constexpr std::uint64_t key(std::uint32_t warp, bool async, std::uint32_t slot) {
    return std::uint64_t{warp} << 7 | std::uint64_t{async} << 6 | slot;
  }
  static constexpr std::uint32_t slot_of(std::uint32_t lane) { return lane + 1; }

  using Entry = std::pair<std::uint64_t, std::uint32_t>;  ///< key, epoch
  /// Sorted by key; epochs of 0 are left out.
  std::vector<Entry> entries;

  std::uint32_t at(std::uint64_t key) const;
  /// Of one lane.
  std::uint32_t of(std::uint32_t warp, bool async, std::uint32_t lane) const;
  /// Entries come in any order, and several of one key.
  void sort();
};

/// Null: nothing is known. Shared by all that agree.
using ClockPtr = std::shared_ptr<const Clock>;

bool covers(const ClockPtr& a, const ClockPtr& b);
ClockPtr join(const ClockPtr& a, const ClockPtr& b);

}  // namespace bitgate::machine::hazard
