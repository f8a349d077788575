#pragma once

namespace bitgate::machine::hazard {

/// What a run watches for besides the faults that end it.
struct Options {
  bool races = false;     ///< data races in shared and global memory, and what barriers do wrong
  bool validity = false;  ///< uninitialised data that matters
  bool taint = false;     ///< where buffers' contents and the schedule reach

  bool any() const { return races || validity || taint; }
  static Options all() { return {.races = true, .validity = true, .taint = false}; }
};

}  // namespace bitgate::machine::hazard
