#include "kernels/w4a16/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/w4a16/w4a16.h"
#include "reference/formats/quantized_matrix.h"
#include "reference/support/error.h"

namespace bitgate::kernels::w4a16 {
namespace {

using formats::QuantConfig;
using formats::QuantizedMatrix;
using formats::ZeroPoints;

struct Convention {
  ZeroPoints zero_points;
  bool act_order;
};
const std::vector<Convention> kConventions = {
    {ZeroPoints::sym, false},    {ZeroPoints::sym, true},      {ZeroPoints::gptq_v1, false},
    {ZeroPoints::gptq_v1, true}, {ZeroPoints::gptq_v2, false}, {ZeroPoints::gptq_v2, true},
    {ZeroPoints::awq, false}};

QuantConfig config_of(const Convention& convention, std::int64_t group, bool whole) {
  QuantConfig config;
  config.group_size = whole ? -1 : group;
  config.zero_points = convention.zero_points;
  config.symmetric = convention.zero_points == ZeroPoints::sym;
  config.awq_layout = convention.zero_points == ZeroPoints::awq;
  config.act_order = convention.act_order;
  return config;
}

/// A matrix that the convention can hold, drawn by RapidCheck.
QuantizedMatrix draw_matrix(const Convention& convention, std::int64_t k, std::int64_t n,
                            std::int64_t group) {
  QuantizedMatrix matrix;
  matrix.k = k;
  matrix.n = n;
  matrix.group = group;
  const auto codes = static_cast<std::size_t>(k * n);
  const auto scales = static_cast<std::size_t>(k / group * n);
  matrix.q =
      *rc::gen::container<std::vector<std::uint8_t>>(codes, rc::gen::inRange<std::uint8_t>(0, 16));
  matrix.scales =
      *rc::gen::container<std::vector<std::uint16_t>>(scales, rc::gen::arbitrary<std::uint16_t>());
  if (convention.zero_points == ZeroPoints::sym) {
    matrix.z.assign(scales, 8);
  } else {
    const bool v1 = convention.zero_points == ZeroPoints::gptq_v1;
    matrix.z = *rc::gen::container<std::vector<std::uint8_t>>(
        scales, rc::gen::inRange<std::uint8_t>(v1 ? 1 : 0, v1 ? 17 : 16));
  }
  matrix.g_idx.resize(static_cast<std::size_t>(k));
  for (std::size_t row = 0; row < matrix.g_idx.size(); ++row) {
    matrix.g_idx[row] = static_cast<std::int32_t>(row / static_cast<std::size_t>(group));
  }
  if (convention.act_order) {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    std::uint64_t state = seed | 1;
    for (std::size_t i = matrix.g_idx.size(); i > 1; --i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(matrix.g_idx[i - 1], matrix.g_idx[(state >> 33) % i]);
    }
  }
  return matrix;
}

TEST(Frame, EveryCodeOfAUnitHasANibbleOfItsOwn) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> places;
  for (std::uint32_t position = 0; position < kBlockK; ++position) {
    for (std::uint32_t column = 0; column < kUnitColumns; ++column) {
      const CodePlace place = code_place(column, position);
      EXPECT_LT(place.word, kUnitBytes / 4);
      EXPECT_LT(place.shift, 32U);
      EXPECT_EQ(place.shift % 4, 0U);
      EXPECT_TRUE(places.emplace(place.word, place.shift).second);
    }
  }
}

// The mapping said a second time, from the side of the instruction: PTX ISA, matrix fragments for
// mma.m16n8k16.
TEST(Frame, ALaneFindsItsFragmentsOfBothTilesAndSteps) {
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t g = lane / 4;
    const std::uint32_t t = lane % 4;
    for (std::uint32_t tile = 0; tile < 2; ++tile) {
      for (std::uint32_t step = 0; step < 2; ++step) {
        for (std::uint32_t reg = 0; reg < 4; ++reg) {
          for (std::uint32_t element = 0; element < 2; ++element) {
            const std::uint32_t row = g + (reg % 2 == 1 ? 8 : 0);
            const std::uint32_t k = 2 * t + element + (reg >= 2 ? 8 : 0);
            const CodePlace place = code_place(16 * tile + row, position_in_block(step, k));
            EXPECT_EQ(place.word, lane * 4 + 2 * tile + step);
            EXPECT_EQ(place.shift, 4 * reg + 16 * element);
          }
        }
      }
    }
  }
}

TEST(Frame, ALanesActivationsAreConsecutive) {
  for (std::uint32_t t = 0; t < 4; ++t) {
    for (std::uint32_t step = 0; step < 2; ++step) {
      EXPECT_EQ(position_in_block(step, 2 * t), 8 * t + 4 * step);
      EXPECT_EQ(position_in_block(step, 2 * t + 1), 8 * t + 4 * step + 1);
      EXPECT_EQ(position_in_block(step, 2 * t + 8), 8 * t + 4 * step + 2);
      EXPECT_EQ(position_in_block(step, 2 * t + 9), 8 * t + 4 * step + 3);
    }
  }
}

TEST(Frame, SaysWhatTheCheckpointSaid) {
  for (const Convention& convention : kConventions) {
    EXPECT_TRUE(rc::check("unpack_frame inverts repack", [&] {
      const auto group = *rc::gen::element<std::int64_t>(32, 64, 128);
      const auto groups = *rc::gen::inRange<std::int64_t>(1, 4);
      const auto n = 8 * *rc::gen::inRange<std::int64_t>(1, 12);
      const bool whole = groups == 1 && *rc::gen::arbitrary<bool>();
      const QuantizedMatrix matrix = draw_matrix(convention, group * groups, n, group);
      const Frame frame = repack(pack(matrix, config_of(convention, group, whole)));
      const QuantizedMatrix read = unpack_frame(frame);
      RC_ASSERT(read.q == matrix.q);
      RC_ASSERT(read.z == matrix.z);
      RC_ASSERT(read.scales == matrix.scales);
      RC_ASSERT(read.g_idx == matrix.g_idx);
      RC_ASSERT(frame.order.empty() != convention.act_order);
    }));
  }
}

TEST(Frame, AChangedCodeShowsInTheFrame) {
  EXPECT_TRUE(rc::check("one nibble differs", [] {
    const Convention convention{ZeroPoints::gptq_v2, false};
    QuantizedMatrix matrix = draw_matrix(convention, 64, 40, 32);
    const Frame before = repack(pack(matrix, config_of(convention, 32, false)));
    matrix.q[*rc::gen::inRange<std::size_t>(0, matrix.q.size())] ^= 1;
    const Frame after = repack(pack(matrix, config_of(convention, 32, false)));
    RC_ASSERT(before.weights != after.weights);
    RC_ASSERT(before.scales == after.scales);
  }));
}

TEST(Frame, PaddedColumnsAreZeros) {
  QuantizedMatrix matrix;
  matrix.k = 32;
  matrix.n = 8;
  matrix.group = 32;
  matrix.q.assign(32 * 8, 15);
  matrix.z.assign(8, 8);
  matrix.scales.assign(8, 0x3c00);
  matrix.g_idx.assign(32, 0);
  const Frame frame = repack(pack(matrix, config_of({ZeroPoints::sym, false}, 32, false)));
  EXPECT_EQ(std::count(frame.scales.begin(), frame.scales.end(), 0x3c00), 8);
  EXPECT_EQ(std::count(frame.scales.begin(), frame.scales.end(), 0), 24);
  int nibbles = 0;
  for (const std::uint32_t word : frame.weights) {
    for (std::uint32_t shift = 0; shift < 32; shift += 4) {
      nibbles += (word >> shift & 15U) != 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(nibbles, 32 * 8);
}

}  // namespace
}  // namespace bitgate::kernels::w4a16
