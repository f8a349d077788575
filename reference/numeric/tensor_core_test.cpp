#include "reference/numeric/tensor_core.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "reference/numeric/exact_sum.h"
#include "reference/numeric/half.h"
#include "reference/numeric/tensor_dot.h"
#include "reference/numeric/tensor_tile.h"
#include "reference/support/error.h"
#include "reference/support/random.h"

namespace bitgate::numeric {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

struct Dot {
  std::array<std::uint16_t, 16> a{};
  std::array<std::uint16_t, 16> b{};
  float c = 0;

  void set(std::size_t i, ScalarType type, double x, double y) {
    a[i] = round_to(type, x);
    b[i] = round_to(type, y);
  }
  float run(const TensorModel& model, ScalarType type) const {
    return tensor_core_dot16(model, type, a.data(), b.data(), c);
  }
};

TEST(TensorCore, CutsTermsBelowTheLargestByTheModelsBits) {
  // 2^24 + 2^24·… : the accumulator is the largest, sixteen products of 2^-1 lie 25 bits below it.
  for (const auto& [name, want] : {std::pair{"hopper", 0x1p24F + 8.0F}, {"volta", 0x1p24F}}) {
    Dot dot;
    dot.c = 0x1p24F;
    for (std::size_t i = 0; i < 16; ++i) dot.set(i, ScalarType::f16, 0.5, 1.0);
    EXPECT_EQ(dot.run(tensor_model(name), ScalarType::f16), want) << name;
  }
}

TEST(TensorCore, ResultIsRoundedTowardZero) {
  Dot dot;
  dot.c = 0x1p24F;
  dot.set(0, ScalarType::f16, 1.0, 1.0);  // 2^24 + 1 lies between two f32 numbers
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), 0x1p24F);
  dot.set(1, ScalarType::f16, 2.0, 1.0);  // 2^24 + 3: nearest even would be 2^24 + 4
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), 0x1p24F + 2);
  dot.c = -dot.c;
  dot.a[0] ^= 0x8000;
  dot.a[1] ^= 0x8000;
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), -0x1p24F - 2);
}

TEST(TensorCore, AmpereAddsTheHalvesOneAfterTheOther) {
  // In one sum the halves cancel exactly; one after the other the small term is lost with the
  // first.
  Dot dot;
  dot.set(0, ScalarType::f16, 0x1p12, 0x1p12);
  dot.set(1, ScalarType::f16, 0x1p-4, 1.0);
  dot.set(8, ScalarType::f16, -0x1p12, 0x1p12);
  dot.set(9, ScalarType::f16, 1.0, 1.0);
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), 1.0F);
  dot.set(1, ScalarType::f16, 1.0, 1.0);
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), 2.0F);
  EXPECT_EQ(dot.run(tensor_model("ampere"), ScalarType::f16), 1.0F);
  EXPECT_EQ(dot.run(tensor_model("turing"), ScalarType::f16), 2.0F);
}

TEST(TensorCore, ExponentOfAProductIsNotNormalised) {
  // 1.5·1.5 = 2.25 counts as exponent 0, so the cut stays at 2^-25, not 2^-24.
  Dot dot;
  dot.set(0, ScalarType::f16, 1.5, 1.5);
  dot.set(1, ScalarType::f16, -1.5, 1.5);
  dot.set(2, ScalarType::f16, 0x1p-11, 0x1p-14);
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), 0x1p-25F);
  dot.set(2, ScalarType::f16, 0x1p-12, 0x1p-14);
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), 0.0F);
}

TEST(TensorCore, SubnormalsAreKept) {
  Dot dot;
  dot.set(0, ScalarType::f16, 0x1p-24, 0x1p-24);
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), 0x1p-48F);
  Dot tiny;
  tiny.set(0, ScalarType::bf16, 0x1p-100, 0x1p-49);
  EXPECT_EQ(tiny.run(tensor_model("hopper"), ScalarType::bf16), 0x1p-149F);
}

TEST(TensorCore, ANegativeSumThatUnderflowsIsPositiveZero) {
  Dot dot;
  dot.set(0, ScalarType::bf16, -0x1p-100, 0x1p-60);
  EXPECT_EQ(bits(dot.run(tensor_model("hopper"), ScalarType::bf16)), 0U);
  Dot zeros;
  zeros.c = -0.0F;
  zeros.set(0, ScalarType::bf16, -0.0, 1.0);
  EXPECT_EQ(bits(zeros.run(tensor_model("hopper"), ScalarType::bf16)), 0U);
}

TEST(TensorCore, OverflowIsInfinite) {
  Dot dot;
  dot.set(0, ScalarType::bf16, 0x1p100, 0x1p28);
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::bf16), kInfinity);
  // A product beyond f32's range is no overflow while the sum is within it.
  dot.set(1, ScalarType::bf16, -0x1p100, 0x1.fep27);
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::bf16), 0x1p120F);
}

TEST(TensorCore, NanIsCanonical) {
  Dot dot;
  dot.c = std::bit_cast<float>(0xffc12345U);
  EXPECT_EQ(bits(dot.run(tensor_model("hopper"), ScalarType::f16)), 0x7fffffffU);
  dot.c = 0;
  dot.set(3, ScalarType::f16, std::numeric_limits<double>::infinity(), 0.0);
  EXPECT_EQ(bits(dot.run(tensor_model("hopper"), ScalarType::f16)), 0x7fffffffU);
  dot.set(3, ScalarType::f16, std::numeric_limits<double>::infinity(), -2.0);
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), -kInfinity);
  dot.c = kInfinity;
  EXPECT_EQ(bits(dot.run(tensor_model("hopper"), ScalarType::f16)), 0x7fffffffU);
}

TEST(TensorCore, ZeroOperandBesideALargeOneHidesNothing) {
  Dot dot;
  dot.set(0, ScalarType::f16, 0.0, 32768.0);
  dot.set(1, ScalarType::f16, 0x1p-14, 0x1p-14);
  EXPECT_EQ(dot.run(tensor_model("hopper"), ScalarType::f16), 0x1p-28F);
}

TEST(TensorCore, SumsThatFitAreExact) {
  Random random(11);
  for (int repeat = 0; repeat < 2000; ++repeat) {
    Dot dot;
    ExactSum exact;
    dot.c = static_cast<float>(random.between(-1000, 1000));
    exact.add(dot.c);
    for (std::size_t i = 0; i < 16; ++i) {
      dot.set(i, ScalarType::f16, static_cast<double>(random.between(-64, 64)),
              static_cast<double>(random.between(-64, 64)));
      exact.add_product(to_float(Half{dot.a[i]}), to_float(Half{dot.b[i]}));
    }
    for (const TensorModel& model : tensor_models()) {
      ASSERT_EQ(dot.run(model, ScalarType::f16), exact.to_float()) << model.name;
    }
  }
}

TEST(TensorCore, ModelsAreFoundByNameAndByComputeCapability) {
  EXPECT_EQ(tensor_model_for(9, 0).name, "hopper");
  EXPECT_EQ(tensor_model_for(8, 6).name, "ampere");
  EXPECT_EQ(tensor_model_for(8, 9).name, "ada");
  EXPECT_EQ(tensor_model_for(7, 0).name, "volta");
  EXPECT_EQ(tensor_model_for(7, 5).name, "turing");
  EXPECT_EQ(tensor_model_for(12, 0).name, "blackwell");
  EXPECT_THROW(tensor_model_for(6, 1), InputError);
  EXPECT_THROW(tensor_model_for(13, 0), InputError);
  EXPECT_THROW(tensor_model("kepler"), InputError);
  for (const TensorModel& model : tensor_models()) {
    EXPECT_EQ(model.measured, model.name == "hopper");
    EXPECT_EQ(model.fp8.measured, model.name == "hopper");
    EXPECT_EQ(model.fp8.evidence.empty(), model.fp8.kind == Fp8Rule::Kind::absent);
    EXPECT_FALSE(model.evidence.empty());
    EXPECT_EQ(&tensor_model(model.name), &model);
  }
}

// How the numbers of a tile are drawn; each stresses another branch of the vector path.
enum class Draw { random_bits, ordinary, wide, subnormal, cancelling, sparse, special, extreme };

std::uint16_t element(Random& random, ScalarType type, Draw draw) {
  const bool half = type == ScalarType::f16;
  const auto any = static_cast<std::uint16_t>(random.next());
  const auto sign = static_cast<std::uint16_t>(any & 0x8000);
  switch (draw) {
    case Draw::random_bits:
      return any;
    case Draw::ordinary:
    case Draw::cancelling:
      return round_to(type, (random.uniform() * 2 - 1) * 4);
    case Draw::wide: {
      const auto exponent = static_cast<int>(random.between(half ? -14 : -60, half ? 15 : 60));
      return round_to(type, std::ldexp(random.uniform() + 1, exponent) * (sign != 0 ? -1 : 1));
    }
    case Draw::subnormal:
      return static_cast<std::uint16_t>(any & (half ? 0x83ff : 0x807f));
    case Draw::sparse:
      return random.chance(0.7) ? sign : round_to(type, random.uniform() * 8 - 4);
    case Draw::special:
      if (random.chance(0.05)) return static_cast<std::uint16_t>(sign | (half ? 0x7c00 : 0x7f80));
      if (random.chance(0.05)) return static_cast<std::uint16_t>(sign | 0x7fc1);
      return random.chance(0.2) ? sign : round_to(type, random.uniform() * 8 - 4);
    case Draw::extreme: {  // sums at both ends of f32's range
      const int exponent = half ? static_cast<int>(random.between(12, 15))
                                : static_cast<int>(random.chance(0.5) ? random.between(55, 66)
                                                                      : random.between(-80, -40));
      return round_to(type, std::ldexp(random.uniform() + 1, exponent) * (sign != 0 ? -1 : 1));
    }
  }
  return 0;
}

float accumulator(Random& random, Draw draw) {
  if (random.chance(0.2)) return random.chance(0.5) ? 0.0F : -0.0F;
  switch (draw) {
    case Draw::random_bits:
    case Draw::special:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    case Draw::wide:
    case Draw::extreme:
      return static_cast<float>(
          std::ldexp(random.uniform() * 2 - 1, static_cast<int>(random.between(-140, 127))));
    case Draw::subnormal:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random.next()) & 0x807fffffU);
    default:
      return static_cast<float>(random.uniform() * 64 - 32);
  }
}

TEST(TensorCore, TileEqualsTheRuleOnEveryBit) {
  constexpr int kTilesEach = 120;  // × 8 draws × 2 types × 6 models × 128 outputs = 1.47 million
  Random random(2024);
  std::int64_t compared = 0;
  std::int64_t nans = 0;
  std::int64_t ordinary = 0;
  for (const TensorModel& model : tensor_models()) {
    for (const ScalarType type : {ScalarType::f16, ScalarType::bf16}) {
      for (int draw_index = 0; draw_index < 8; ++draw_index) {
        const auto draw = static_cast<Draw>(draw_index);
        for (int tile = 0; tile < kTilesEach; ++tile) {
          std::array<std::uint16_t, 256> a;
          std::array<std::uint16_t, 128> b;
          std::array<float, 128> c;
          for (auto& x : a) x = element(random, type, draw);
          for (auto& x : b) x = element(random, type, draw);
          for (auto& x : c) x = accumulator(random, draw);
          if (draw == Draw::cancelling) {
            for (std::size_t i = 0; i < a.size(); i += 2) a[i + 1] = a[i] ^ 0x8000;
            for (std::size_t i = 0; i < b.size(); i += 2) {
              b[i + 1] = random.chance(0.5) ? b[i] : static_cast<std::uint16_t>(b[i] + 1);
            }
          }
          std::array<float, 128> d;
          tensor_core_m16n8k16(model, type, a.data(), b.data(), c.data(), d.data());
          for (std::size_t m = 0; m < 16; ++m) {
            for (std::size_t n = 0; n < 8; ++n) {
              const float want =
                  tensor_core_dot16(model, type, &a[m * 16], &b[n * 16], c[m * 8 + n]);
              ASSERT_EQ(bits(d[m * 8 + n]), bits(want))
                  << model.name << ' ' << name(type) << " draw " << draw_index << " row " << m
                  << " column " << n;
              ++compared;
              nans += std::isnan(want) ? 1 : 0;
              ordinary += std::isnormal(want) ? 1 : 0;
            }
          }
          tensor_core_m16n8k16(model, type, a.data(), b.data(), c.data(), c.data());
          for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(bits(c[i]), bits(d[i]));
        }
      }
    }
  }
  EXPECT_GE(compared, 1'000'000);
  EXPECT_GT(nans, 10'000);
  EXPECT_GT(ordinary, compared / 2);
}

TEST(TensorCore, TheModelsDiffer) {
  // Were the bits of a model not used, the comparison above would still hold.
  Random random(5);
  std::array<int, 2> differing{};
  for (int repeat = 0; repeat < 2000; ++repeat) {
    Dot dot;
    for (std::size_t i = 0; i < 16; ++i) {
      dot.a[i] = element(random, ScalarType::f16, Draw::wide);
      dot.b[i] = element(random, ScalarType::f16, Draw::wide);
    }
    const float hopper = dot.run(tensor_model("hopper"), ScalarType::f16);
    if (hopper != dot.run(tensor_model("turing"), ScalarType::f16)) ++differing[0];
    if (hopper != dot.run(tensor_model("ampere"), ScalarType::f16)) ++differing[1];
  }
  EXPECT_GT(differing[0], 100);
  EXPECT_GT(differing[1], 100);
}

// An H200's m16n8k16: the exact sum, -459.49997 units of 2^-24, is cut below -459.5, since the
// subnormal accumulator (-460 units) has the exponent -14 and not its leading bit's -16.
TEST(TensorCore, SubnormalF16AccumulatorHasItsTypesSmallestExponent) {
  const std::array<std::uint32_t, 16> a{0x8924, 0x88c4, 0x8432, 0x05d3, 0x03e6, 0x83e2,
                                        0x8629, 0x81ef, 0x8850, 0x0707, 0x8a69, 0x803d,
                                        0x0676, 0x0158, 0x88c6, 0x8306};
  const std::array<std::uint32_t, 16> b{0x0851, 0x82db, 0x8312, 0x0004, 0x84d5, 0x85f4,
                                        0x01c3, 0x06b9, 0x82e5, 0x01ce, 0x8718, 0x8688,
                                        0x08cc, 0x05db, 0x80e4, 0x0416};
  const TensorModel& hopper = tensor_model("hopper");
  EXPECT_EQ(tensor_dot_f16(hopper, TensorType::f16, TensorType::f16, a, b, 0x81cc), 0x81cc);
  TileRow row;
  std::array<TileRow, 8> columns{};
  for (std::size_t k = 0; k < a.size(); ++k) {
    row.words[k / 2] |= a[k] << (16 * (k % 2));
    columns[3].words[k / 2] |= b[k] << (16 * (k % 2));
  }
  std::array<std::uint16_t, 8> c{};
  c[3] = 0x81cc;
  std::array<std::uint16_t, 8> d{};
  tensor_tile_f16(hopper, TensorType::f16, TensorType::f16, std::span(&row, 1), columns, c.data(),
                  d.data());
  EXPECT_EQ(d[3], 0x81cc);
}

}  // namespace
}  // namespace bitgate::numeric
