#include "kernels/device/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "kernels/device/cuda_device.h"
#include "kernels/embedded.h"
#include "reference/support/error.h"

namespace bitgate::kernels {
namespace {

constexpr int kWarmUpRounds = 3;
constexpr int kMostCalls = 2000;

struct Timed {
  std::unique_ptr<CudaDevice::Replay> replay;
  int calls = 0;
  std::vector<double> microseconds;

  double run() { return 1000.0 * static_cast<double>(replay->run()) / calls; }
};

/// Whole rounds of the rotation, enough of them to last graph_seconds.
int calls_for(double call_us, int round, const BenchOptions& options) {
  const double wanted = options.graph_seconds * 1e6 / std::max(call_us, 0.1);
  const int calls = std::max(static_cast<int>(std::min<double>(std::ceil(wanted), kMostCalls)),
                             options.least_calls);
  return (calls + round - 1) / round * round;
}

Timed prepare(CudaDevice& device, const BenchArm& arm, const BenchOptions& options) {
  try {
    const int round = static_cast<int>(arm.rotations.size());
    Timed timed;
    timed.calls = round;
    timed.replay = device.record(*arm.code, arm.rotations, round);
    timed.run();
    const int calls = calls_for(timed.run(), round, options);
    if (calls != round) {
      timed.replay = device.record(*arm.code, arm.rotations, calls);
      timed.calls = calls;
    }
    return timed;
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", arm.name, error.what()));
  }
}

const Code& read_code() {
  static const Code code = [] {
    for (const EmbeddedModule& module : embedded_modules()) {
      if (module.name != "bench/read") continue;
      return Code{.name = std::string(module.name),
                  .ptx = std::string_view(reinterpret_cast<const char*>(module.ptx_begin),
                                          reinterpret_cast<const char*>(module.ptx_end)),
                  .cubin_sm80 = std::as_bytes(std::span(module.sm_80_begin, module.sm_80_end)),
                  .cubin_sm90 = std::as_bytes(std::span(module.sm_90_begin, module.sm_90_end))};
    }
    throw std::runtime_error("the read kernel is not in this build");
  }();
  return code;
}

/// The kernel's parameter of the same name (kernels/bench/read.cu).
struct ReadRanges {
  std::array<std::uint64_t, 3> range{};
  std::array<std::uint32_t, 3> end{};
  std::uint32_t padding = 0;
};
static_assert(sizeof(ReadRanges) == 40);

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

ReadRanges packed(const std::vector<ReadRange>& ranges) {
  ReadRanges result;
  if (ranges.empty() || ranges.size() > 3) {
    throw InputError(fmt::format("a plain read takes 1 to 3 ranges, not {}", ranges.size()));
  }
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const ReadRange range = i < ranges.size() ? ranges[i] : ReadRange{};
    end += range.bytes / 16;
    if (range.address % 16 != 0 || range.bytes % 16 != 0 || end >= std::uint64_t{1} << 31U) {
      throw InputError(fmt::format(
          "a plain read takes 16-byte aligned ranges below 32 GiB, not {} bytes at {:#x}",
          range.bytes, range.address));
    }
    result.range[i] = range.address;
    result.end[i] = static_cast<std::uint32_t>(end);
  }
  return result;
}

}  // namespace

std::vector<BenchResult> bench(Device& device, const std::vector<BenchArm>& arms,
                               const BenchOptions& options) {
  auto* cuda_device = dynamic_cast<CudaDevice*>(&device);
  if (cuda_device == nullptr) {
    throw Unsupported(
        fmt::format("timing needs a cuda device; this is the {}", device.properties().description));
  }
  std::vector<Timed> timed;
  timed.reserve(arms.size());
  for (const BenchArm& arm : arms) timed.push_back(prepare(*cuda_device, arm, options));
  for (int round = 0; round < kWarmUpRounds; ++round) {
    for (Timed& arm : timed) arm.run();
  }
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    for (std::size_t i = 0; i < timed.size(); ++i) {
      Timed& arm = timed[repetition % 2 == 0 ? i : timed.size() - 1 - i];
      arm.microseconds.push_back(arm.run());
    }
  }
  std::vector<BenchResult> results;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    std::vector<double>& times = timed[i].microseconds;
    std::ranges::sort(times);
    const std::size_t middle = times.size() / 2;
    results.push_back({.name = arms[i].name,
                       .median_us = times.size() % 2 == 1 ? times[middle]
                                                          : (times[middle - 1] + times[middle]) / 2,
                       .min_us = times.front(),
                       .max_us = times.back(),
                       .calls = timed[i].calls});
  }
  return results;
}

std::vector<BenchArm> plain_read_arms(const std::vector<std::vector<ReadRange>>& rotations,
                                      int multiprocessors, std::uint64_t sink) {
  struct Shape {
    std::uint32_t in_flight;
    std::uint32_t threads;
    std::uint32_t blocks_per_multiprocessor;  ///< 0: as many as give each thread one round
  };
  constexpr std::array<Shape, 8> kShapes{{{8, 512, 2},
                                          {8, 1024, 1},
                                          {8, 256, 4},
                                          {8, 256, 0},
                                          {4, 1024, 1},
                                          {4, 1024, 2},
                                          {4, 512, 4},
                                          {4, 256, 0}}};
  std::vector<BenchArm> arms;
  for (const Shape& shape : kShapes) {
    BenchArm arm;
    arm.code = &read_code();
    for (const auto& ranges : rotations) {
      const ReadRanges argument = packed(ranges);
      const std::uint32_t round = shape.in_flight * shape.threads;
      const std::uint32_t blocks =
          shape.blocks_per_multiprocessor == 0
              ? std::max((argument.end[2] + round - 1) / round, 1U)
              : static_cast<std::uint32_t>(multiprocessors) * shape.blocks_per_multiprocessor;
      arm.name = fmt::format("read {}x{} in flight {}", blocks, shape.threads, shape.in_flight);
      arm.rotations.push_back({.entry = fmt::format("bench_read_{}", shape.in_flight),
                               .grid = {blocks, 1, 1},
                               .block = {shape.threads, 1, 1},
                               .dynamic_shared_bytes = 0,
                               .arguments = {bytes_of(argument), bytes_of(sink)}});
    }
    arms.push_back(std::move(arm));
  }
  return arms;
}

}  // namespace bitgate::kernels
