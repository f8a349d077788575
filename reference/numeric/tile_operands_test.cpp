#include "reference/numeric/tile_operands.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "reference/numeric/half.h"
#include "reference/numeric/tensor_core.h"

namespace bitgate::numeric {
namespace {

constexpr int kTiles = 40;

struct Counts {
  int outputs = 0;
  int infinite = 0;
  int nan = 0;
  int zero = 0;
  int subnormal = 0;
  int negative_underflow = 0;  ///< exact sums below zero whose result is +0
  int by_bits = 0;             ///< outputs that 24, 25 and 26 fraction bits tell apart
};

/// Runs tiles of 16-bit types through the model, by the scalar rule.
Counts count(OperandClass operands, TensorType type) {
  const ScalarType scalar = type == TensorType::f16 ? ScalarType::f16 : ScalarType::bf16;
  TensorModel fewer = tensor_model("hopper");
  TensorModel more = fewer;
  --fewer.fraction_bits;
  ++more.fraction_bits;
  Counts counts;
  for (std::uint64_t seed = 0; seed < kTiles; ++seed) {
    const TileOperands tile = draw_tile(seed, operands, {.a = type, .b = type});
    for (std::size_t m = 0; m < 16; ++m) {
      for (std::size_t n = 0; n < 8; ++n) {
        std::array<std::uint16_t, 16> a;
        std::array<std::uint16_t, 16> b;
        for (std::size_t k = 0; k < 16; ++k) {
          a[k] = static_cast<std::uint16_t>(tile.a[m * 16 + k]);
          b[k] = static_cast<std::uint16_t>(tile.b[n * 16 + k]);
        }
        const auto c = std::bit_cast<float>(static_cast<std::uint32_t>(tile.c[m * 8 + n]));
        const auto dot = [&](const TensorModel& model) {
          return std::bit_cast<std::uint32_t>(
              tensor_core_dot16(model, scalar, a.data(), b.data(), c));
        };
        const auto d = std::bit_cast<float>(dot(tensor_model("hopper")));
        double sum = c;
        for (std::size_t k = 0; k < 16; ++k) {
          sum += static_cast<double>(to_float(scalar, a[k])) *
                 static_cast<double>(to_float(scalar, b[k]));
        }
        ++counts.outputs;
        counts.infinite += std::isinf(d) ? 1 : 0;
        counts.nan += std::isnan(d) ? 1 : 0;
        counts.zero += d == 0.0F ? 1 : 0;
        counts.subnormal += std::fpclassify(d) == FP_SUBNORMAL ? 1 : 0;
        counts.negative_underflow += sum < 0 && d == 0.0F ? 1 : 0;
        counts.by_bits += dot(fewer) != dot(more) ? 1 : 0;
      }
    }
  }
  return counts;
}

TEST(TileOperands, ASeedGivesTheSameBitsEverywhere) {
  std::uint64_t hash = 0;
  for (const OperandClass operands : kOperandClasses) {
    for (int type = 0; type <= static_cast<int>(TensorType::b1); ++type) {
      TileForm form;
      form.a = static_cast<TensorType>(type);
      form.b = form.a;
      form.accumulator = form.a == TensorType::f64 ? TensorType::f64
                         : is_float(form.a)        ? TensorType::f32
                                                   : TensorType::s32;
      const TileOperands tile = draw_tile(3, operands, form);
      const std::uint64_t above =
          layout(form.a).bits == 64 ? 0 : ~std::uint64_t{0} << layout(form.a).bits;
      for (const auto* part : {&tile.a, &tile.b, &tile.c}) {
        for (const std::uint64_t x : *part) {
          hash = (hash ^ x) * 0x100000001b3ULL;
          const std::uint64_t high = part == &tile.c ? 0 : x & above;
          ASSERT_EQ(high, 0U) << name(operands) << name(form.a);
        }
      }
    }
  }
  EXPECT_EQ(hash, 16829267631033255582ULL);
}

TEST(TileOperands, EachClassReachesWhatItIsFor) {
  for (const TensorType type : {TensorType::f16, TensorType::bf16}) {
    EXPECT_GT(count(OperandClass::random_bits, type).nan, 100) << name(type);
    EXPECT_GT(count(OperandClass::special, type).nan, 500) << name(type);
    EXPECT_GT(count(OperandClass::special, type).infinite, 100) << name(type);
    EXPECT_EQ(count(OperandClass::ordinary, type).nan, 0) << name(type);
    EXPECT_GT(count(OperandClass::aligned, type).by_bits, 1000) << name(type);
    EXPECT_GT(count(OperandClass::cancellation, type).by_bits, 300) << name(type);
    const Counts zeros = count(OperandClass::zeros, type);
    EXPECT_GT(zeros.zero, 50) << name(type);
    EXPECT_GT(zeros.subnormal, 300) << name(type);
    EXPECT_GT(zeros.outputs - zeros.zero, zeros.outputs / 2) << name(type);
  }
  const Counts overflow = count(OperandClass::overflow, TensorType::bf16);
  EXPECT_GT(overflow.infinite, 200);
  EXPECT_GT(overflow.outputs - overflow.infinite, 200);
  const Counts underflow = count(OperandClass::underflow, TensorType::bf16);
  EXPECT_GT(underflow.subnormal, 300);
  EXPECT_GT(underflow.negative_underflow, 20);
}

TEST(TileOperands, IntegersReachTheEndsOfTheirRange) {
  TileForm form;
  form.a = TensorType::s8;
  form.b = TensorType::u8;
  form.accumulator = TensorType::s32;
  form.k = 32;
  int above = 0;
  int below = 0;
  for (const OperandClass operands : {OperandClass::overflow, OperandClass::underflow}) {
    const TileOperands tile = draw_tile(1, operands, form);
    for (std::size_t m = 0; m < form.m; ++m) {
      for (std::size_t n = 0; n < form.n; ++n) {
        std::int64_t sum = static_cast<std::int32_t>(tile.c[m * form.n + n]);
        for (std::size_t k = 0; k < form.k; ++k) {
          sum += static_cast<std::int8_t>(tile.a[m * form.k + k]) *
                 static_cast<std::int64_t>(tile.b[n * form.k + k]);
        }
        above += sum > 0x7fffffff ? 1 : 0;
        below += sum < -0x80000000LL ? 1 : 0;
      }
    }
  }
  EXPECT_GT(above, 20);
  EXPECT_GT(below, 20);
}

}  // namespace
}  // namespace bitgate::numeric
