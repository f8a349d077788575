#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "reference/machine/exec/context.h"
#include "reference/machine/hazard/report.h"

namespace bitgate::machine::hazard {

/// Barriers that some threads of a block wait at and others go around.
///
/// A thread that has exited satisfies a barrier of all threads (measured on an H200), and a thread
/// that returns early is right; so that a barrier completes says nothing yet. What is wrong is a
/// thread that lives on behind the barrier: for each `bar` and `barrier`, its *join* is the place
/// that all ways behind it lead to first and that is also reached around it. A thread that comes to
/// the join without having been at the barrier, and exits while others wait there, or did so before
/// they came, went around it.
class BarrierWatch {
 public:
  BarrierWatch(const LaunchState& state, ReportList& reports);

  bool any() const { return !joins_.empty(); }
  bool is_join(std::uint32_t pc) const { return marks_[pc] != 0; }

  void start_block(const Block& block);
  void finish_block(const Block& block);
  void at_join(const Context& x, std::uint32_t lanes);
  void arrives(const Warp& warp, std::uint32_t pc, std::uint32_t lanes);
  void exits(const Context& x);
  /// Before those that wait for barrier `number` go on.
  void completes(const Block& block, std::uint32_t number);

 private:
  struct Join {
    std::uint32_t barrier = 0;  ///< the instruction
    std::uint32_t place = 0;
  };
  struct Lanes {
    std::uint32_t through = 0;  ///< were at the barrier since they last were at its join
    std::uint32_t around = 0;   ///< came to the join without
    std::uint32_t gone = 0;     ///< of those: exited
    std::uint32_t exit_pc = 0;  ///< of the last that did
  };

  Lanes& lanes(const Block& block, std::size_t join, std::uint32_t warp);
  void check(const Block& block, std::size_t join);

  const LaunchState& state_;
  ReportList& reports_;
  std::vector<Join> joins_;
  std::vector<std::uint8_t> marks_;  ///< by pc
  std::map<const Block*, std::vector<Lanes>> blocks_;
};

}  // namespace bitgate::machine::hazard
