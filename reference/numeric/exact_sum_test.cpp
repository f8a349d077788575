#include "reference/numeric/exact_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/numeric/half.h"
#include "reference/support/error.h"
#include "reference/support/random.h"

namespace bitgate::numeric {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

TEST(ExactSum, KeepsTheSmallestBesideTheLargest) {
  ExactSum sum;
  sum.add_product(kMax, kMax);
  sum.add_product(kTiny, kTiny);
  sum.add_product(-kMax, kMax);
  EXPECT_EQ(sum.to_double(), 0x1p-298);
  sum.add_product(-kTiny, kTiny);
  EXPECT_TRUE(sum.is_zero());
  EXPECT_FALSE(std::signbit(sum.to_double()));
}

TEST(ExactSum, CarriesAndBorrowsAcrossAllLimbs) {
  ExactSum sum;
  sum.add_product(-kTiny, kTiny);  // all ones, up to the sign
  EXPECT_EQ(sum.to_double(), -0x1p-298);
  sum.add_product(kTiny, kTiny);
  EXPECT_TRUE(sum.is_zero());
}

TEST(ExactSum, RoundsOnceToNearestEven) {
  ExactSum sum;
  sum.add(1);
  sum.add(0x1p-11F);  // the tie between two f16
  EXPECT_EQ(sum.round_to(ScalarType::f16), 0x3c00);
  sum.add_product(kTiny, kTiny);
  EXPECT_EQ(sum.round_to(ScalarType::f16), 0x3c01);
  ExactSum wide;
  wide.add(1);
  wide.add(0x1p-53F);
  EXPECT_EQ(wide.to_double(), 1.0);
  wide.add_product(kTiny, kTiny);
  EXPECT_EQ(wide.to_double(), 1.0 + 0x1p-52);
  EXPECT_EQ(wide.to_float(), 1.0F);
}

TEST(ExactSum, EqualsIntegerArithmetic) {
  Random random(7);
  for (int repeat = 0; repeat < 200; ++repeat) {
    ExactSum sum;
    std::int64_t integer = 0;
    for (int i = 0; i < 100; ++i) {
      const std::int64_t a = random.between(-4096, 4096);
      const std::int64_t b = random.between(-4096, 4096);
      integer += a * b;
      sum.add_product(static_cast<float>(a), static_cast<float>(b));
    }
    EXPECT_EQ(sum.to_double(), static_cast<double>(integer));
  }
}

TEST(ExactSum, OrderChangesNothing) {
  Random random(9);
  std::vector<std::pair<float, float>> terms;
  while (terms.size() < 500) {
    const auto a = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    const auto b = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    if (std::isfinite(a) && std::isfinite(b)) terms.emplace_back(a, b);
  }
  ExactSum forward;
  ExactSum backward;
  for (const auto& [a, b] : terms) forward.add_product(a, b);
  for (auto it = terms.rbegin(); it != terms.rend(); ++it)
    backward.add_product(it->first, it->second);
  EXPECT_EQ(forward.to_double(), backward.to_double());
  for (const auto& [a, b] : terms) forward.add_product(-a, b);
  EXPECT_TRUE(forward.is_zero());
}

TEST(ExactSum, RefusesWhatIsNoNumber) {
  ExactSum sum;
  EXPECT_THROW(sum.add(std::numeric_limits<float>::infinity()), InputError);
  EXPECT_THROW(sum.add_product(0, std::numeric_limits<float>::quiet_NaN()), InputError);
}

}  // namespace
}  // namespace bitgate::numeric
