// Five defects, planted between a problem and its launch, that the fuzzer must find from any seed.
// BITGATE_PLANTED_SEEDS=20 prints the whole table: cases until found, the shrunk case.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "fuzz/fuzz_loop.h"
#include "reference/formats/quantized_matrix.h"

namespace bitgate::fuzz {
namespace {

using formats::PackedLayer;
using formats::QuantizedMatrix;
using kernels::w4a16::Adapter;
using kernels::w4a16::Buffers;
using kernels::w4a16::Shape;

/// The rows of a last, partial row tile: its last row is not computed.
Adapter lost_tail_row() {
  Adapter adapter;
  adapter.make_launch = [](const Kernel& kernel, const Shape& shape, const Buffers& buffers) {
    Shape cut = shape;
    if (shape.m > 1 && shape.m % kernel.geometry.tile_m != 0) --cut.m;
    return kernels::w4a16::make_launch(kernel, cut, buffers);
  };
  return adapter;
}

/// Every group but the first reads the scales of the group before it.
Adapter previous_groups_scale() {
  Adapter adapter;
  adapter.repack = [](const PackedLayer& layer) {
    PackedLayer wrong = layer;
    const auto row = static_cast<std::ptrdiff_t>(layer.n);
    if (row > 0 && wrong.scales.size() > static_cast<std::size_t>(row)) {
      std::copy(layer.scales.begin(), layer.scales.end() - row, wrong.scales.begin() + row);
    }
    return kernels::w4a16::repack(wrong);
  };
  return adapter;
}

/// Stored zero points of gptq_v2 read as if they were gptq_v1's.
Adapter zero_point_plus_one() {
  Adapter adapter;
  adapter.repack = [](const PackedLayer& layer) {
    PackedLayer wrong = layer;
    if (layer.config.zero_points == formats::ZeroPoints::gptq_v2) {
      wrong.config.zero_points = formats::ZeroPoints::gptq_v1;
    }
    return kernels::w4a16::repack(wrong);
  };
  return adapter;
}

/// The weights are sorted by group, the activations are not gathered.
Adapter gather_skipped() {
  Adapter adapter;
  adapter.make_launch = [](const Kernel& kernel, const Shape& shape, const Buffers& buffers) {
    Shape plain = shape;
    plain.act_order = false;
    Buffers without = buffers;
    without.order = 0;
    return kernels::w4a16::make_launch(kernel, plain, without);
  };
  return adapter;
}

/// A pipeline that forgets its last block once it has wrapped around.
Adapter last_block_lost(const Kernel& kernel) {
  Adapter adapter;
  adapter.repack = [&kernel](const PackedLayer& layer) {
    if (k_blocks(kernel, layer.k) <= kernel.geometry.stages) return kernels::w4a16::repack(layer);
    QuantizedMatrix matrix = formats::unpack(layer);
    const auto order = formats::sort_by_group(matrix);
    const std::int64_t first = (k_blocks(kernel, layer.k) - 1) * kernel.geometry.tile_k;
    for (std::int64_t position = first; position < layer.k; ++position) {
      const std::int64_t row = order[static_cast<std::size_t>(position)];
      const std::int64_t group = matrix.g_idx[static_cast<std::size_t>(row)];
      for (std::int64_t col = 0; col < layer.n; ++col) {
        matrix.q[static_cast<std::size_t>(row * layer.n + col)] =
            std::min<std::uint8_t>(15, matrix.z[static_cast<std::size_t>(group * layer.n + col)]);
      }
    }
    return kernels::w4a16::repack(formats::pack(matrix, layer.config));
  };
  return adapter;
}

TEST(PlantedDefects, AreFoundFromEverySeed) {
  const Kernel& kernel = *kernels::match_kernels("*gemm*f16.int").front();
  struct Planted {
    const char* name;
    Adapter adapter;
  };
  const Planted planted[] = {{"tail", lost_tail_row()},
                             {"group", previous_groups_scale()},
                             {"zero_point", zero_point_plus_one()},
                             {"act_order", gather_skipped()},
                             {"pipeline_depth", last_block_lost(kernel)}};
  const char* asked = std::getenv("BITGATE_PLANTED_SEEDS");
  const int seeds = asked == nullptr ? 2 : std::max(1, std::atoi(asked));

  for (const Planted& defect : planted) {
    std::vector<std::uint64_t> cases;
    std::string smallest;
    double seconds = 0;
    std::uint64_t judged = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
      FuzzOptions options;
      options.kernels = {&kernel};
      options.seed = static_cast<std::uint64_t>(seed);
      options.cases = 2000;
      options.case_options.adapter = defect.adapter;
      options.case_options.diagnose = false;
      const FuzzOutcome outcome = fuzz(
          options, [] { return kernels::make_machine_device(numeric::tensor_model("hopper")); });
      ASSERT_TRUE(outcome.failure) << defect.name << " not found from seed " << seed;
      EXPECT_EQ(outcome.failure->shrunk.verdict, outcome.failure->found.verdict);
      cases.push_back(outcome.failure->index + 1);
      if (seed == 1) smallest = outcome.failure->shrunk.spec;
      seconds += outcome.seconds;
      judged += outcome.cases;
    }
    std::sort(cases.begin(), cases.end());
    fmt::print("{:15} found in {} of {} seeds, cases: median {}, most {}; {:.1f} cases/s; {}\n",
               defect.name, cases.size(), seeds, cases[cases.size() / 2], cases.back(),
               static_cast<double>(judged) / seconds, smallest);
  }
}

}  // namespace
}  // namespace bitgate::fuzz
