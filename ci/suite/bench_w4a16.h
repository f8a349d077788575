#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ci/suite/marlin_table.h"
#include "conformance/problem/spec.h"
#include "kernels/device/bench.h"

namespace bitgate::suite {

struct BenchW4a16Options {
  kernels::BenchOptions timing;
  std::vector<std::string> kernels;  ///< GLOBs timed beside the plan's choice, where in the domain
  /// Called before each spec, for progress.
  std::function<void(const conformance::Spec&)> before = [](const conformance::Spec&) {};
};

/// One kernel's time for a spec.
struct BenchW4a16Arm {
  bool planned = false;  ///< the plan's choice
  kernels::BenchResult time;
};

struct BenchW4a16Row {
  conformance::Spec spec;
  std::uint64_t read_bytes = 0;     ///< of a call: weights, scales and zero points in the frame
  int rotations = 0;                ///< sets of buffers
  kernels::BenchResult plain_read;  ///< the fastest of several launch shapes
  std::vector<BenchW4a16Arm> arms;
  std::optional<MarlinTime> table;
  /// The table's Marlin × measured plain read ÷ the table's: this GPU and day.
  std::optional<double> marlin_us;
};

/// Times specs on a cuda device. Weights are random codes with scales around 2^-7, activations
/// uniform in [-1, 1): `fill` does not matter. The sets of buffers together hold twice the L2's
/// bytes of weights. Before it is timed, each kernel must write its whole output and nothing else.
/// InputError, Unsupported, DeviceLost; std::runtime_error naming a kernel that fails.
std::vector<BenchW4a16Row> bench_w4a16(kernels::Device& device,
                                       std::span<const conformance::Spec> specs,
                                       const BenchW4a16Options& options = {});

/// A table for people, a line a kernel.
std::string bench_text(std::span<const BenchW4a16Row> rows);
/// { "schema": "bitgate.bench/1", "device": …, "rows": [ … ] }, with a final newline.
std::string bench_json(std::span<const BenchW4a16Row> rows, const std::string& device);

}  // namespace bitgate::suite
