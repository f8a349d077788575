#include "reference/numeric/ulp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/numeric/half.h"

namespace bitgate::numeric {
namespace {

TEST(Ulp, CountsStepsBetweenNumbers) {
  EXPECT_EQ(ulp_distance(ScalarType::f16, 0x3c00, 0x3c01), 1U);
  EXPECT_EQ(ulp_distance(ScalarType::f16, 0x0001, 0x8001), 2U);
  EXPECT_EQ(ulp_distance(ScalarType::bf16, 0x0000, 0x8000), 0U);
  EXPECT_EQ(ulp_distance(ScalarType::f16, 0x7bff, 0x7c00), 1U);
  EXPECT_EQ(ulp_distance(1.0F, std::nextafterf(1.0F, 0.0F)), 1U);
  EXPECT_EQ(
      ulp_distance(-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()),
      2U * 0x7f800000U);
}

TEST(Ulp, NanIsFarFromNumbersAndNearNan) {
  EXPECT_EQ(ulp_distance(ScalarType::f16, 0x7fff, 0x3c00), kNanDistance);
  EXPECT_EQ(ulp_distance(ScalarType::f16, 0x7fff, 0xfe00), 0U);
  // 0x7c01 is a NaN of f16 and an ordinary number of bf16.
  EXPECT_EQ(ulp_distance(ScalarType::f16, 0x7c01, 0x7c02), 0U);
  EXPECT_EQ(ulp_distance(ScalarType::bf16, 0x7c01, 0x7c02), 1U);
}

TEST(Ulp, SpacingIsTheDistanceToTheNeighbour) {
  for (const ScalarType type : {ScalarType::f16, ScalarType::bf16}) {
    for (const int element : {0x0000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x3fff, 0x7bfe}) {
      const auto bits = static_cast<std::uint16_t>(element);
      const auto low = static_cast<double>(to_float(type, bits));
      const auto high = static_cast<double>(to_float(type, static_cast<std::uint16_t>(bits + 1)));
      EXPECT_EQ(ulp_of(type, low), high - low) << name(type) << " 0x" << std::hex << bits;
    }
  }
}

}  // namespace
}  // namespace bitgate::numeric
