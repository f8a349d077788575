#include <benchmark/benchmark.h>

#include <string>

#include "kernels/device/device.h"
#include "kernels/kernel.h"
#include "kernels/w4a16/w4a16.h"

// One W4A16 call on the reference machine, one host thread, by one kernel of each kind, plain and
// with what it watches for: races and barriers, uninitialised data, both. The buffers hold zeros:
// what the machine does does not depend on values.

namespace bitgate::kernels::w4a16 {
namespace {

using machine::hazard::Options;
constexpr Options kPlain{};
constexpr Options kRaces{.races = true};
constexpr Options kValidity{.validity = true};

void on_machine(benchmark::State& state, const char* glob, const Options& hazards) {
  Shape shape;
  shape.m = state.range(0);
  shape.k = state.range(1);
  shape.n = state.range(2);
  shape.group = 128;
  shape.zeros = Zeros::integer;
  shape.lda = shape.k;
  shape.ldc = shape.n;
  const auto device = make_machine_device(numeric::tensor_model("hopper"));
  const Kernel& kernel = *match_kernels(glob).front();
  const auto bytes = [](std::int64_t elements, std::int64_t halves) {
    return static_cast<std::uint64_t>(elements * halves / 2);
  };
  Buffers buffers;
  const auto input = [&](std::uint64_t size, const char* name) {
    return device->allocate(size, name, 0, 0, true);
  };
  buffers.a = input(bytes(shape.m * shape.k, 4), "a");
  buffers.c = device->allocate(bytes(shape.m * shape.n, 4), "c");
  buffers.weights = input(bytes(shape.k * shape.n, 2), "weights");
  buffers.scales = input(bytes(shape.k * shape.n, 2), "scales");
  buffers.zero_points = input(bytes(shape.k * shape.n, 2), "zero points");
  const auto launch = make_launch(kernel, shape, buffers);
  // The first launch decodes the module.
  LaunchOptions options;
  options.hazards = hazards;
  device->launch(*kernel.code, *launch, options);
  double threads = 0;
  double tensor = 0;
  for (auto _ : state) {
    const LaunchOutcome outcome = device->launch(*kernel.code, *launch, options);
    if (outcome.status != LaunchOutcome::Status::completed) {
      state.SkipWithError(outcome.message.c_str());
      return;
    }
    if (!outcome.hazards.empty()) {
      state.SkipWithError(outcome.hazards.front().message.c_str());
      return;
    }
    threads += static_cast<double>(outcome.thread_instructions);
    tensor += static_cast<double>(outcome.tensor_instructions);
  }
  state.counters["thread_instructions"] = benchmark::Counter(threads, benchmark::Counter::kIsRate);
  state.counters["mma"] = benchmark::Counter(tensor, benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(on_machine, gemv, "w4a16.gemv.1x*.f16.int", kPlain)
    ->ArgNames({"m", "k", "n"})
    ->Args({1, 1024, 256})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_machine, gemm, "w4a16.gemm.16x64*.f16.int", kPlain)
    ->ArgNames({"m", "k", "n"})
    ->Args({16, 1024, 256})
    ->Args({16, 4096, 1024})
    ->Args({16, 4096, 4096})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_machine, gemm_races, "w4a16.gemm.16x64*.f16.int", kRaces)
    ->ArgNames({"m", "k", "n"})
    ->Args({16, 1024, 256})
    ->Args({16, 4096, 1024})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_machine, gemm_validity, "w4a16.gemm.16x64*.f16.int", kValidity)
    ->ArgNames({"m", "k", "n"})
    ->Args({16, 1024, 256})
    ->Args({16, 4096, 1024})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_machine, gemm_hazards, "w4a16.gemm.16x64*.f16.int", Options::all())
    ->ArgNames({"m", "k", "n"})
    ->Args({16, 1024, 256})
    ->Args({16, 4096, 1024})
    ->Args({16, 4096, 4096})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_machine, prefill, "w4a16.prefill.*.f16.int", kPlain)
    ->ArgNames({"m", "k", "n"})
    ->Args({128, 1024, 256})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bitgate::kernels::w4a16

BENCHMARK_MAIN();
