#include "reference/numeric/half.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/support/random.h"

namespace bitgate::numeric {
namespace {

TEST(Half, EveryValueComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    for (const ScalarType type : {ScalarType::f16, ScalarType::bf16}) {
      const auto element = static_cast<std::uint16_t>(bits);
      const float value = to_float(type, element);
      ASSERT_EQ(round_to(type, static_cast<double>(value)), std::isnan(value) ? 0x7fff : element)
          << name(type) << " 0x" << std::hex << bits;
    }
  }
}

TEST(Half, ReadsAsTheCpuReads) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float want = _cvtsh_ss(static_cast<std::uint16_t>(bits));
    const float got = to_float(Half{static_cast<std::uint16_t>(bits)});
    if (std::isnan(want)) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), 0x7fffffffU);
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want));
    }
  }
}

TEST(Half, ManyAreReadAsOne) {
  for (const ScalarType type : {ScalarType::f16, ScalarType::bf16}) {
    std::vector<std::uint16_t> bits(0xffff);  // no multiple of eight
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
    std::vector<float> values(bits.size());
    to_float(type, bits.data(), bits.size(), values.data());
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const float want = to_float(type, bits[i]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(values[i]));
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(want));
      }
    }
  }
}

// Between two neighbours: the lower half goes down, the upper half up, the tie to the even one.
TEST(Half, RoundsToNearestEvenAtEveryBoundary) {
  for (const ScalarType type : {ScalarType::f16, ScalarType::bf16}) {
    const std::uint16_t infinity = type == ScalarType::f16 ? 0x7c00 : 0x7f80;
    for (std::uint16_t low = 0; low + 1 < infinity; ++low) {
      const auto high = static_cast<std::uint16_t>(low + 1);
      const double middle =
          (static_cast<double>(to_float(type, low)) + static_cast<double>(to_float(type, high))) /
          2;
      const std::uint16_t even = (low & 1) == 0 ? low : high;
      ASSERT_EQ(round_to(type, middle), even);
      ASSERT_EQ(round_to(type, -middle), even | 0x8000);
      ASSERT_EQ(round_to(type, std::nextafter(middle, 0.0)), low);
      ASSERT_EQ(round_to(type, std::nextafter(middle, HUGE_VAL)), high);
    }
  }
}

TEST(Half, OverflowBeginsHalfAStepPastTheLargest) {
  EXPECT_EQ(to_half(65519.99).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e300).bits, 0xfc00);
  EXPECT_EQ(to_bfloat16(0x1.fefffp127).bits, 0x7f7f);
  EXPECT_EQ(to_bfloat16(0x1.ffp127).bits, 0x7f80);
  EXPECT_EQ(to_half(std::numeric_limits<double>::infinity()).bits, 0x7c00);
  EXPECT_EQ(to_half(std::numeric_limits<double>::denorm_min()).bits, 0);
  EXPECT_EQ(to_half(-0.0).bits, 0x8000);
}

TEST(Half, NanIsCanonical) {
  EXPECT_EQ(to_half(-std::numeric_limits<double>::quiet_NaN()).bits, 0x7fff);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<double>::signaling_NaN()).bits, 0x7fff);
}

TEST(Half, RoundsOnce) {
  // Through f32 this rounds up twice: 1 + 2^-11 + 2^-40 is above the tie, its f32 is the tie.
  EXPECT_EQ(to_half(1 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(to_half(static_cast<double>(static_cast<float>(1 + 0x1p-11 + 0x1p-40))).bits, 0x3c00);
}

TEST(Half, AgreesWithTheCpuOnRandomFloats) {
  Random random(3);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(to_half(static_cast<double>(value)).bits,
              _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
  }
}

}  // namespace
}  // namespace bitgate::numeric
