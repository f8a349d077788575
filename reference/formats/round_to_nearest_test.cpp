#include "reference/formats/round_to_nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/formats/expect_rejected.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"
#include "reference/support/random.h"

namespace bitgate::formats {
namespace {

QuantConfig config_of(ZeroPoints zeros, std::int64_t group, bool act_order = false) {
  return {.group_size = group,
          .symmetric = zeros == ZeroPoints::sym,
          .zero_points = zeros,
          .awq_layout = zeros == ZeroPoints::awq,
          .act_order = act_order};
}

/// Every kind of group: centred, all positive, all negative, all zero, tiny.
std::vector<float> varied_weights(std::int64_t k, std::int64_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> w;
  for (std::int64_t column = 0; column < n; ++column) {
    const std::uint64_t kind = random.below(5);
    for (std::int64_t row = 0; row < k; ++row) {
      const double u = random.uniform();
      const double value = kind == 0   ? u - 0.5
                           : kind == 1 ? 0.1 + u
                           : kind == 2 ? -0.1 - u
                           : kind == 3 ? 0
                                       : (u - 0.3) * 1e-6;
      w.push_back(static_cast<float>(value));
    }
  }
  return w;
}

TEST(RoundToNearest, EveryWeightIsWithinHalfAStep) {
  EXPECT_TRUE(rc::check("|w - dequantised| <= scale / 2 (+ what the f16 scale clips)", [] {
    const auto zeros = *rc::gen::element(ZeroPoints::sym, ZeroPoints::gptq_v1, ZeroPoints::gptq_v2,
                                         ZeroPoints::awq);
    const bool act_order = zeros != ZeroPoints::awq && *rc::gen::arbitrary<bool>();
    const auto group = *rc::gen::element<std::int64_t>(8, 16, -1);
    const QuantConfig config = config_of(zeros, group, act_order);
    const std::int64_t k = 48;
    const std::int64_t n = 16;
    const auto w = varied_weights(k, n, *rc::gen::arbitrary<std::uint64_t>());
    const QuantizedMatrix m = round_to_nearest(w, k, n, config);
    RC_ASSERT(unpack(pack(m, config)) == m);
    const std::vector<float> back = dequantize(m);
    for (std::int64_t row = 0; row < k; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        const auto g = m.g_idx[static_cast<std::size_t>(row)];
        const double scale =
            numeric::to_float(numeric::Half{m.scales[static_cast<std::size_t>(g * n + column)]});
        const double error =
            std::abs(static_cast<double>(w[static_cast<std::size_t>(column * k + row)]) -
                     static_cast<double>(back[static_cast<std::size_t>(row * n + column)]));
        // The end of the range clips by at most the rounding of scale and zero point: half a step
        // more, and 15 times the f16 scale's relative error of 2^-11 (absolute 2^-25 if subnormal).
        RC_ASSERT(error <= scale * (1 + 15 * 0x1p-11) + 15 * 0x1p-25);
        const int q = m.q[static_cast<std::size_t>(row * n + column)];
        if (q > 0 && q < 15) RC_ASSERT(error <= scale / 2 * (1 + 1e-12));
      }
    }
  }));
}

TEST(RoundToNearest, AsymmetricExample) {
  // low -3, high 12: scale 1, z 3, and each weight is itself.
  std::vector<float> w = {-3, -2, -1, 0, 1, 2, 3, 12};
  const QuantizedMatrix m = round_to_nearest(w, 8, 1, config_of(ZeroPoints::gptq_v2, 8));
  EXPECT_EQ(m.scales, (std::vector<std::uint16_t>{numeric::to_half(1).bits}));
  EXPECT_EQ(m.z, (std::vector<std::uint8_t>{3}));
  EXPECT_EQ(m.q, (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 15}));
}

TEST(RoundToNearest, SymmetricExampleClipsNothing) {
  std::vector<float> w = {-8, -7.5, -0.5, 0, 0.5, 1.5, 2.5, 7};
  const QuantizedMatrix m = round_to_nearest(w, 8, 1, config_of(ZeroPoints::sym, -1));
  EXPECT_EQ(m.scales, (std::vector<std::uint16_t>{numeric::to_half(1).bits}));
  EXPECT_EQ(m.z, (std::vector<std::uint8_t>{8}));
  EXPECT_EQ(m.q, (std::vector<std::uint8_t>{0, 0, 8, 8, 8, 10, 10, 15}));
}

TEST(RoundToNearest, GptqV1NeverHasAZeroPointOf0Or16) {
  const std::vector<float> positive = {14, 7, 1, 2, 3, 4, 5, 6};
  const QuantizedMatrix m = round_to_nearest(positive, 8, 1, config_of(ZeroPoints::gptq_v1, 8));
  EXPECT_EQ(m.z[0], 1);
  EXPECT_EQ(m.scales[0], numeric::to_half(1).bits);
  EXPECT_EQ(dequantize(m), positive);
  EXPECT_EQ(round_to_nearest(positive, 8, 1, config_of(ZeroPoints::gptq_v2, 8)).z[0], 0);
  const std::vector<float> negative = {-15, -7, -1, -2, -3, -4, -5, -6};
  EXPECT_EQ(round_to_nearest(negative, 8, 1, config_of(ZeroPoints::gptq_v1, 8)).z[0], 15);
}

TEST(RoundToNearest, ActOrderSortsByFallingNormTiesByIndex) {
  // Norms of the eight rows: 1 3 2 3 0 5 1 0; groups of 2 in the order 5 1 3 2 0 6 4 7.
  const std::vector<float> w = {1, -3, 2, 3, 0, 3, -1, 0, 0, 0, 0, 0, 0, 4, 0, 0};
  const QuantizedMatrix m = round_to_nearest(w, 8, 2, config_of(ZeroPoints::gptq_v1, 2, true));
  EXPECT_EQ(m.g_idx, (std::vector<std::int32_t>{2, 0, 1, 1, 3, 0, 2, 3}));
  const QuantizedMatrix plain = round_to_nearest(w, 8, 2, config_of(ZeroPoints::gptq_v1, 2));
  EXPECT_EQ(plain.g_idx, (std::vector<std::int32_t>{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(RoundToNearest, RefusesWhatItCannotRepresent) {
  std::vector<float> w(8, 0.5F);
  w[3] = std::numeric_limits<float>::quiet_NaN();
  expect_rejected<InputError>("row 3, column 0 is nan",
                              [&] { round_to_nearest(w, 8, 1, config_of(ZeroPoints::sym, 8)); });
  w[3] = 1e30F;
  expect_rejected<InputError>("f16 ends at 65504",
                              [&] { round_to_nearest(w, 8, 1, config_of(ZeroPoints::sym, 8)); });
}

}  // namespace
}  // namespace bitgate::formats
