#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/machine/hazard/label.h"
#include "reference/machine/site.h"

namespace bitgate::machine::hazard {

/// A sink that labelled bits came to: one entry an instruction, sink and label.
struct TaintReach {
  Label label = Label::data;
  Sink sink = Sink::none;
  Site site;                  ///< its first execution with such bits
  Site origin;                ///< the instruction that brought the bits into a register
  std::string origin_buffer;  ///< what it read them from; empty: a register, shared or local memory
  std::uint64_t count = 0;
  /// Of load_address: the buffers that were read with such addresses, and whether nothing in the
  /// launch writes any of them.
  std::vector<std::string> buffers;
  bool only_unwritten = false;
  /// Of branch, label schedule: the branch is the exit test of the loop that holds the load or
  /// atomic, and that loop changes nothing else: a thread waits.
  bool own_wait_loop = false;
};

/// An atomic instruction that was executed.
struct AtomicUse {
  Site site;
  bool is_float = false;
  bool commutes = false;    ///< with itself, exactly: add, min, max, and, or, xor of integers
  bool has_result = false;  ///< atom, not red
  std::uint64_t count = 0;  ///< warps that executed it
};

/// Where buffers' contents and the schedule reach in one launch. The launch is `all_data` when
/// `reaches` has no entry of label data but load addresses with only_unwritten; legs (b) and (c) of
/// `all_schedules` hold when it has none of label schedule but branches with own_wait_loop, and
/// every atomic without result commutes. (Leg (a), races, is the race detector's.)
struct Taint {
  std::vector<TaintReach> reaches;
  std::vector<AtomicUse> atomics;
};

}  // namespace bitgate::machine::hazard
