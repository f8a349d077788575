#include <benchmark/benchmark.h>

#include <string>

#include "kernels/device/device.h"
#include "kernels/kernel.h"
#include "kernels/w4a16/w4a16.h"

// One W4A16 call on the reference machine, one host thread, by one kernel of each kind.
// The buffers hold zeros: what the machine does does not depend on values.

namespace bitgate::kernels::w4a16 {
namespace {

void on_machine(benchmark::State& state, const char* glob) {
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
  buffers.a = device->allocate(bytes(shape.m * shape.k, 4), "a");
  buffers.c = device->allocate(bytes(shape.m * shape.n, 4), "c");
  buffers.weights = device->allocate(bytes(shape.k * shape.n, 2), "weights");
  buffers.scales = device->allocate(bytes(shape.k * shape.n, 2), "scales");
  buffers.zero_points = device->allocate(bytes(shape.k * shape.n, 2), "zero points");
  const auto launch = make_launch(kernel, shape, buffers);
  // The first launch decodes the module.
  device->launch(*kernel.code, *launch, {});
  double threads = 0;
  double tensor = 0;
  for (auto _ : state) {
    const LaunchOutcome outcome = device->launch(*kernel.code, *launch, {});
    if (outcome.status != LaunchOutcome::Status::completed) {
      state.SkipWithError(outcome.message.c_str());
      return;
    }
    threads += static_cast<double>(outcome.thread_instructions);
    tensor += static_cast<double>(outcome.tensor_instructions);
  }
  state.counters["thread_instructions"] = benchmark::Counter(threads, benchmark::Counter::kIsRate);
  state.counters["mma"] = benchmark::Counter(tensor, benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(on_machine, gemv, "w4a16.gemv.1x*.f16.int")
    ->ArgNames({"m", "k", "n"})
    ->Args({1, 1024, 256})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_machine, gemm, "w4a16.gemm.16x64*.f16.int")
    ->ArgNames({"m", "k", "n"})
    ->Args({16, 1024, 256})
    ->Args({16, 4096, 1024})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_machine, prefill, "w4a16.prefill.*.f16.int")
    ->ArgNames({"m", "k", "n"})
    ->Args({128, 1024, 256})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bitgate::kernels::w4a16

BENCHMARK_MAIN();
