#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "reference/machine/hazard/flow_labels.h"
#include "reference/machine/hazard/taint_report.h"

namespace bitgate::machine::hazard {

/// Follows two labels to the sinks that DESIGN.md ("Determinism, in levels") names.
///
/// data: starts at the contents that every global allocation has at the launch. schedule: starts at
/// the results of atomics, of relaxed, acquire and volatile loads of shared and global memory,
/// clocks, %smid, activemask, and the answers of mbarrier's waits; and at memory that atomics write
/// whose order decides its contents (additions of floats, exchanges, compare-and-swaps).
///
/// Labels go bit by bit, as undefined bits do (validity.h); a value chosen by a labelled branch is
/// not labelled: the branch itself is a sink. They start anew at each launch.
class TaintWatch {
 public:
  TaintWatch(const LaunchState& state, const FlowTable& table);

  void start_block(const Block& block);
  void finish_block(const Block& block);
  void before(Context& x, const Op& op, std::uint32_t lanes);
  void access(Context& x, const Op& op, const MemoryAccess& access);
  void copy(const Warp& warp, const PendingCopy& copy, std::uint32_t lanes);
  std::uint64_t bytes() const { return data_.labels.bytes() + schedule_.labels.bytes(); }

  Taint result() const;

 private:
  using Key = std::tuple<Label, Sink, std::uint32_t>;  // and pc
  struct Found {
    TaintReach reach;
    std::set<const GlobalMemory::Allocation*> buffers;
  };
  struct Watch : LabelListener {
    Watch(TaintWatch& o, Label label) : owner(o), labels(o.state_, o.table_, label, *this) {}
    void reached(const Reached& where) override { owner.reached(labels, where); }
    TaintWatch& owner;
    Labels labels;
  };
  void reached(const Labels& labels, const Reached& where);
  bool is_own_wait_loop(std::uint32_t branch, std::uint32_t origin) const;

  const LaunchState& state_;
  const FlowTable& table_;
  Watch data_{*this, Label::data};
  Watch schedule_{*this, Label::schedule};
  std::map<Key, Found> found_;
  std::map<std::uint32_t, AtomicUse> atomics_;  ///< by pc
  std::vector<Found*> addresses_;               ///< of the instruction that is being executed
  std::set<const GlobalMemory::Allocation*> written_;
  std::vector<const GlobalMemory::Allocation*> allocations_;
};

}  // namespace bitgate::machine::hazard
