#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reference/machine/exec/context.h"
#include "reference/machine/exec/memory.h"

namespace bitgate::machine::hazard {

/// Finds launches in which everybody waits by spinning: every warp has come back to a state that it
/// was in before, and memory has not changed in between, so that nothing ever will. Threads that
/// read a clock never come back; for them there is the time limit.
///
/// It looks only when no block has started or finished for a while, and starts anew whenever memory
/// changes.
class LivelockWatch {
 public:
  explicit LivelockWatch(const LaunchState& state) : state_(state) {}

  void start_block(const Block& block);
  void finish_block(const Block& block);
  /// A warp has had its turn. Throws a fault of kind deadlock.
  void turn_over(const Warp& warp);

  bool suspects() const { return suspects_; }
  void writes(const MemoryAccess& access);
  void has_written();
  void changed();

 private:
  struct Seen {
    std::uint64_t state = 0;
    bool again = false;  ///< the warp was in this state twice
  };

  bool everybody_waits() const;
  std::string describe() const;

  const LaunchState& state_;
  std::set<std::pair<std::uint64_t, const Block*>> blocks_;  ///< by number
  std::uint64_t started_ = 0;                                ///< blocks
  std::uint64_t last_change_ = 0;                            ///< in instructions of warps
  std::uint64_t turns_ = 0;
  std::uint64_t window_ = 64;  ///< turns after which the states to come back to are taken anew
  bool suspects_ = false;
  std::map<const Warp*, Seen> seen_;
  std::vector<std::pair<const std::byte*, std::vector<std::byte>>> written_;
};

}  // namespace bitgate::machine::hazard
