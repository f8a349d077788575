#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device/device.h"

namespace bitgate::kernels {

/// One thing to time: a launch, once for each set of rotating buffers. The sets together should
/// exceed the L2 cache, so that a call finds nothing of its own left there.
struct BenchArm {
  std::string name;
  const Code* code = nullptr;
  std::vector<Launch> rotations;
};

struct BenchOptions {
  int repetitions = 20;          ///< timed replays of each arm's graph
  double graph_seconds = 0.003;  ///< a graph holds enough calls to last about this long…
  int least_calls = 50;          ///< …but at least these, and whole rounds of the rotation
};

/// Microseconds a call, over the repetitions.
struct BenchResult {
  std::string name;
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  int calls = 0;  ///< in the arm's graph
};

/// Times the arms on a `cuda` device: each is a CUDA graph of many calls; the arms take turns, in
/// the opposite order every other repetition, so that clocks and temperature treat them alike.
/// Unsupported on other devices; std::runtime_error, naming the arm, when a launch fails.
std::vector<BenchResult> bench(Device& device, const std::vector<BenchArm>& arms,
                               const BenchOptions& options = {});

/// Memory that a plain read visits: 16-byte aligned, a multiple of 16 bytes.
struct ReadRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// Arms that do nothing but read the same bytes once, one for each of several launch shapes; the
/// fastest of them is the honest floor of one launch. Each element of `rotations` is the (at most
/// three) ranges of one call; `sink` is 4 writable bytes.
std::vector<BenchArm> plain_read_arms(const std::vector<std::vector<ReadRange>>& rotations,
                                      int multiprocessors, std::uint64_t sink);

}  // namespace bitgate::kernels
