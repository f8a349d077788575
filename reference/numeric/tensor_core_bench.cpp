#include <benchmark/benchmark.h>

#include <array>

#include "reference/numeric/half.h"
#include "reference/numeric/tensor_core.h"
#include "reference/support/random.h"

namespace {

using namespace bitgate;
using namespace bitgate::numeric;

// A chain of tiles: each is the accumulator of the next, as in a kernel's k loop.
void tile(benchmark::State& state, const TensorModel& model, ScalarType type) {
  Random random(1);
  std::array<std::uint16_t, 256> a;
  std::array<std::uint16_t, 128> b;
  std::array<float, 128> c{};
  for (auto& x : a) x = round_to(type, random.uniform() * 2 - 1);
  for (auto& x : b) x = round_to(type, random.uniform() * 16 - 8);
  for (auto _ : state) {
    tensor_core_m16n8k16(model, type, a.data(), b.data(), c.data(), c.data());
    benchmark::DoNotOptimize(c);
  }
  state.SetItemsProcessed(state.iterations());
}

void scalar(benchmark::State& state) {
  Random random(1);
  std::array<std::uint16_t, 16> a;
  for (auto& x : a) x = round_to(ScalarType::f16, random.uniform() * 2 - 1);
  float c = 0;
  for (auto _ : state) {
    c = tensor_core_dot16(tensor_model("hopper"), ScalarType::f16, a.data(), a.data(), c);
    benchmark::DoNotOptimize(c);
  }
}

BENCHMARK_CAPTURE(tile, m16n8k16_hopper_f16, tensor_model("hopper"), ScalarType::f16);
BENCHMARK_CAPTURE(tile, m16n8k16_hopper_bf16, tensor_model("hopper"), ScalarType::bf16);
BENCHMARK_CAPTURE(tile, m16n8k16_ampere_f16, tensor_model("ampere"), ScalarType::f16);
BENCHMARK(scalar)->Name("dot16_scalar");

}  // namespace

BENCHMARK_MAIN();
