#include <benchmark/benchmark.h>

#include <array>

#include "reference/numeric/half.h"
#include "reference/numeric/tensor_core.h"
#include "reference/numeric/tensor_tile.h"
#include "reference/numeric/tile_operands.h"
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

/// Tiles of the other types, operands of ordinary size.
void typed_tile(benchmark::State& state, TensorType type) {
  const TileOperands drawn =
      draw_tile(1, OperandClass::ordinary,
                {.k = static_cast<std::size_t>(256 / layout(type).bits), .a = type, .b = type});
  std::array<TileRow, 16> a;
  std::array<TileRow, 8> b;
  const auto bits = static_cast<std::size_t>(layout(type).bits);
  for (std::size_t i = 0; i < drawn.a.size(); ++i) {
    a[i * bits / 256].words[i * bits % 256 / 32] |= static_cast<std::uint32_t>(drawn.a[i])
                                                    << i * bits % 32;
  }
  for (std::size_t i = 0; i < drawn.b.size(); ++i) {
    b[i * bits / 256].words[i * bits % 256 / 32] |= static_cast<std::uint32_t>(drawn.b[i])
                                                    << i * bits % 32;
  }
  std::array<float, 128> c{};
  std::array<std::int32_t, 128> integers{};
  for (auto _ : state) {
    if (is_float(type)) {
      tensor_tile(tensor_model("hopper"), type, type, a, b, c.data(), c.data());
    } else {
      integer_tile(type, type, a, b, false, integers.data(), integers.data());
    }
    benchmark::DoNotOptimize(c);
    benchmark::DoNotOptimize(integers);
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
BENCHMARK_CAPTURE(typed_tile, m16n8k8_tf32, TensorType::tf32);
BENCHMARK_CAPTURE(typed_tile, m16n8k32_e4m3, TensorType::e4m3);
BENCHMARK_CAPTURE(typed_tile, m16n8k32_s8, TensorType::s8);
BENCHMARK_CAPTURE(typed_tile, m16n8k64_s4, TensorType::s4);
BENCHMARK(scalar)->Name("dot16_scalar");

}  // namespace

BENCHMARK_MAIN();
