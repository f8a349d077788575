#include "reference/numeric/tensor_tile.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/numeric/half.h"
#include "reference/numeric/tensor_dot.h"
#include "reference/numeric/tile_operands.h"
#include "reference/support/error.h"

namespace bitgate::numeric {
namespace {

// The rule of tensor_core.h once more, in extended precision and from the types' definitions.

struct Number {
  long double value;
  int exponent;  ///< unnormalised; of zero, none
};

Number number(TensorType type, std::uint64_t bits) {
  if (type == TensorType::tf32) bits &= 0xffffe000U;
  const TensorTypeLayout sizes = layout(type == TensorType::tf32 ? TensorType::f32 : type);
  const int bias = (1 << (sizes.exponent - 1)) - 1;
  const auto field = static_cast<int>((bits >> sizes.fraction) & ((1ULL << sizes.exponent) - 1));
  const auto fraction = static_cast<long double>(bits & ((1ULL << sizes.fraction) - 1)) *
                        std::pow(2.0L, static_cast<long double>(-sizes.fraction));
  const long double sign = (bits >> (sizes.bits - 1)) != 0 ? -1 : 1;
  const bool top = field == (1 << sizes.exponent) - 1;
  if (type == TensorType::e4m3 ? (bits & 0x7f) == 0x7f : top && fraction != 0) {
    return {std::numeric_limits<long double>::quiet_NaN(), 0};
  }
  if (type != TensorType::e4m3 && top) {
    return {sign * std::numeric_limits<long double>::infinity(), 0};
  }
  const int exponent = field == 0 ? 1 - bias : field - bias;
  return {
      sign * (fraction + (field == 0 ? 0 : 1)) * std::pow(2.0L, static_cast<long double>(exponent)),
      exponent};
}

/// The sum before its rounding to the accumulator's type.
long double sum_of(int fraction_bits, TensorType a_type, TensorType b_type,
                   const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                   std::size_t first, std::size_t count, float c) {
  std::vector<Number> terms{number(TensorType::f32, std::bit_cast<std::uint32_t>(c))};
  for (std::size_t k = first; k < first + count; ++k) {
    const Number x = number(a_type, a[k]);
    const Number y = number(b_type, b[k]);
    terms.push_back({x.value * y.value, x.exponent + y.exponent});
  }
  int largest = -126;
  long double special = 0;
  for (const Number& term : terms) {
    if (!std::isfinite(term.value)) special += term.value;
    if (term.value != 0) largest = std::max(largest, term.exponent);
  }
  if (special != 0) return special;
  long double sum = 0;
  for (const Number& term : terms) {
    sum += std::trunc(std::ldexp(term.value, fraction_bits - largest));
  }
  return std::ldexp(sum, largest - fraction_bits);
}

std::uint32_t cut_to_f32(long double sum, int fraction_bits) {
  if (std::isnan(sum)) return 0x7fffffffU;
  if (std::isinf(sum)) return std::bit_cast<std::uint32_t>(static_cast<float>(sum));
  const int exponent = sum == 0 ? -126 : std::max(std::ilogb(sum), -126);
  const long double unit = std::ldexp(1.0L, exponent - fraction_bits);
  const auto result = static_cast<float>(std::trunc(sum / unit) * unit);
  return result == 0 ? 0 : std::bit_cast<std::uint32_t>(result);
}

std::uint16_t round_to_f16(long double sum) {
  if (std::isnan(sum)) return 0x7fff;
  const std::uint16_t sign = sum < 0 ? 0x8000 : 0;
  sum = std::fabs(sum);
  if (sum >= 65520) return sign | 0x7c00;
  const int exponent = sum == 0 ? -14 : std::max(std::ilogb(sum), -14);
  const long double units = std::nearbyint(std::ldexp(sum, 10 - exponent));  // to nearest even
  const auto magnitude =
      static_cast<std::uint16_t>((exponent + 14) * 1024 + static_cast<int>(units));
  return magnitude == 0 ? 0 : sign | magnitude;
}

struct Case {
  TensorType a;
  TensorType b;
  std::size_t k;
};

struct Tile {
  TileOperands operands;
  std::array<TileRow, 16> a;
  std::array<TileRow, 8> b;

  Tile(std::uint64_t seed, OperandClass drawn, const TileForm& form)
      : operands(draw_tile(seed, drawn, form)) {
    pack(form.a, operands.a, form.k, a);
    pack(form.b, operands.b, form.k, b);
  }
  static void pack(TensorType type, const std::vector<std::uint64_t>& elements, std::size_t k,
                   std::span<TileRow> rows) {
    const std::size_t bits = static_cast<std::size_t>(layout(type).bits);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::size_t at = i % k * bits;
      rows[i / k].words[at / 32] |= static_cast<std::uint32_t>(elements[i]) << at % 32;
    }
  }
  std::vector<std::uint64_t> row(std::size_t m, std::size_t k) const {
    return slice(operands.a, m, k);
  }
  std::vector<std::uint64_t> column(std::size_t n, std::size_t k) const {
    return slice(operands.b, n, k);
  }
  static std::vector<std::uint64_t> slice(const std::vector<std::uint64_t>& all, std::size_t i,
                                          std::size_t k) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i * k);
    return {first, first + static_cast<std::ptrdiff_t>(k)};
  }
};

/// f16 bits of an fp8 element; NaN as f16's.
std::uint64_t as_half(TensorType type, std::uint64_t bits) {
  return round_to_f16(number(type, bits).value);
}

/// Elements in the order in which fp8 is summed by two f16 mma.
std::vector<std::uint64_t> pairs_first(TensorType type, const std::vector<std::uint64_t>& all) {
  std::vector<std::uint64_t> ordered;
  for (const std::size_t pair : {0U, 2U}) {
    for (std::size_t k = 0; k < all.size(); k += 4) {
      ordered.push_back(as_half(type, all[k + pair]));
      ordered.push_back(as_half(type, all[k + pair + 1]));
    }
  }
  return ordered;
}

std::uint32_t expected_f32(const TensorModel& model, const Case& form, std::vector<std::uint64_t> a,
                           std::vector<std::uint64_t> b, float c) {
  if (layout(form.a).bits != 8) {
    const std::size_t count = 256 / static_cast<std::size_t>(layout(form.a).bits * model.parts);
    for (std::size_t first = 0; first < form.k; first += count) {
      c = std::bit_cast<float>(cut_to_f32(sum_of(model.fraction_bits, form.a, form.b, a, b, first,
                                                 std::min(count, form.k - first), c),
                                          23));
    }
    return std::bit_cast<std::uint32_t>(c);
  }
  if (model.fp8.kind == Fp8Rule::Kind::sums) {
    const std::size_t count = 32 / static_cast<std::size_t>(model.fp8.parts);
    for (std::size_t first = 0; first < form.k; first += count) {
      c = std::bit_cast<float>(cut_to_f32(sum_of(model.fp8.fraction_bits, form.a, form.b, a, b,
                                                 first, std::min(count, form.k - first), c),
                                          model.fp8.result_fraction_bits));
    }
    return std::bit_cast<std::uint32_t>(c);
  }
  a = pairs_first(form.a, a);
  b = pairs_first(form.b, b);
  float product = 0;
  for (std::size_t first = 0; first < form.k; first += form.k / 2) {
    product =
        std::bit_cast<float>(cut_to_f32(sum_of(model.fraction_bits, TensorType::f16,
                                               TensorType::f16, a, b, first, form.k / 2, product),
                                        23));
  }
  const float sum = c + product;
  return std::isnan(sum) ? 0x7fffffffU : std::bit_cast<std::uint32_t>(sum);
}

class TensorTile : public testing::TestWithParam<Case> {};

TEST_P(TensorTile, FollowsTheRuleOfEveryModel) {
  const Case form = GetParam();
  int compared = 0;
  int ordinary = 0;
  for (const TensorModel& model : tensor_models()) {
    if (layout(form.a).bits == 8 && model.fp8.kind == Fp8Rule::Kind::absent) continue;
    for (const OperandClass drawn : kOperandClasses) {
      for (std::uint64_t seed = 0; seed < 2; ++seed) {
        const Tile tile(seed, drawn, {.k = form.k, .a = form.a, .b = form.b});
        std::array<float, 128> c;
        for (std::size_t i = 0; i < c.size(); ++i) {
          c[i] = std::bit_cast<float>(static_cast<std::uint32_t>(tile.operands.c[i]));
        }
        std::array<float, 128> d;
        tensor_tile(model, form.a, form.b, tile.a, tile.b, c.data(), d.data());
        for (std::size_t i = 0; i < c.size(); ++i) {
          const std::uint32_t want =
              expected_f32(model, form, tile.row(i / 8, form.k), tile.column(i % 8, form.k), c[i]);
          ASSERT_EQ(std::bit_cast<std::uint32_t>(d[i]), want)
              << model.name << ' ' << name(form.a) << ' ' << name(drawn) << " seed " << seed
              << " output " << i;
          ++compared;
          ordinary += std::isnormal(d[i]) ? 1 : 0;
        }
        tensor_tile(model, form.a, form.b, std::span(tile.a).first(8), tile.b, c.data(), c.data());
        for (std::size_t i = 0; i < 64; ++i) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(c[i]), std::bit_cast<std::uint32_t>(d[i]));
        }
      }
    }
  }
  EXPECT_GE(compared, 2 * 10 * 2 * 128);
  EXPECT_GT(ordinary, compared / 3);
}

class TensorTileF16 : public TensorTile {};

TEST_P(TensorTileF16, RoundsToNearestEven) {
  const Case form = GetParam();
  for (const TensorModel& model : tensor_models()) {
    if (layout(form.a).bits == 8 && model.fp8.kind == Fp8Rule::Kind::absent) continue;
    const bool two_steps = layout(form.a).bits == 8 && model.fp8.kind == Fp8Rule::Kind::two_f16_mma;
    for (const OperandClass drawn : kOperandClasses) {
      const Tile tile(7, drawn,
                      {.k = form.k, .a = form.a, .b = form.b, .accumulator = TensorType::f16});
      std::array<std::uint16_t, 128> c;
      for (std::size_t i = 0; i < c.size(); ++i) {
        c[i] = static_cast<std::uint16_t>(tile.operands.c[i]);
      }
      std::array<std::uint16_t, 128> d;
      tensor_tile_f16(model, form.a, form.b, tile.a, tile.b, c.data(), d.data());
      for (std::size_t i = 0; i < c.size(); ++i) {
        std::vector<std::uint64_t> a = tile.row(i / 8, form.k);
        std::vector<std::uint64_t> b = tile.column(i % 8, form.k);
        const bool fp8 = layout(form.a).bits == 8;
        std::size_t count = fp8 ? 32 / static_cast<std::size_t>(std::max(model.fp8.parts, 1))
                                : 16 / static_cast<std::size_t>(model.parts);
        if (two_steps) {
          a = pairs_first(form.a, a);
          b = pairs_first(form.b, b);
          count = form.k / 2;
        }
        const TensorType a_type = two_steps ? TensorType::f16 : form.a;
        const TensorType b_type = two_steps ? TensorType::f16 : form.b;
        const int bits = fp8 ? model.fp8.fraction_bits : model.fraction_bits;
        std::uint16_t want = two_steps ? std::uint16_t{0} : c[i];
        for (std::size_t first = 0; first < form.k; first += count) {
          want = round_to_f16(sum_of(bits, a_type, b_type, a, b, first,
                                     std::min(count, form.k - first), to_float(Half{want})));
        }
        if (two_steps) {
          want = to_half(static_cast<double>(to_float(Half{c[i]})) +
                         static_cast<double>(to_float(Half{want})))
                     .bits;
        }
        ASSERT_EQ(d[i], want) << model.name << ' ' << name(form.a) << ' ' << name(drawn)
                              << " output " << i;
      }
    }
  }
}

std::string case_name(const testing::TestParamInfo<Case>& one) {
  return std::string(name(one.param.a)) + "_" + std::string(name(one.param.b)) + "_k" +
         std::to_string(one.param.k);
}

INSTANTIATE_TEST_SUITE_P(Types, TensorTile,
                         testing::Values(Case{TensorType::f16, TensorType::f16, 16},
                                         Case{TensorType::f16, TensorType::f16, 8},
                                         Case{TensorType::bf16, TensorType::bf16, 16},
                                         Case{TensorType::bf16, TensorType::bf16, 8},
                                         Case{TensorType::tf32, TensorType::tf32, 8},
                                         Case{TensorType::tf32, TensorType::tf32, 4},
                                         Case{TensorType::e4m3, TensorType::e4m3, 32},
                                         Case{TensorType::e5m2, TensorType::e4m3, 32},
                                         Case{TensorType::e4m3, TensorType::e5m2, 16}),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Types, TensorTileF16,
                         testing::Values(Case{TensorType::f16, TensorType::f16, 16},
                                         Case{TensorType::f16, TensorType::f16, 8},
                                         Case{TensorType::e4m3, TensorType::e5m2, 32},
                                         Case{TensorType::e5m2, TensorType::e4m3, 16}),
                         case_name);

TEST(TensorTileTypes, Tf32IgnoresTheLowThirteenBits) {
  Tile tile(1, OperandClass::ordinary, {.k = 8, .a = TensorType::tf32, .b = TensorType::tf32});
  const std::array<float, 128> c{};
  std::array<float, 128> before;
  std::array<float, 128> after;
  const TensorModel& model = tensor_model("hopper");
  tensor_tile(model, TensorType::tf32, TensorType::tf32, tile.a, tile.b, c.data(), before.data());
  for (TileRow& row : tile.a) row.words[3] ^= 0x1fff;
  for (TileRow& row : tile.b) row.words[5] ^= 0x1abc;
  tensor_tile(model, TensorType::tf32, TensorType::tf32, tile.a, tile.b, c.data(), after.data());
  EXPECT_EQ(before, after);
  tile.a[0].words[3] ^= 0x2000;
  tensor_tile(model, TensorType::tf32, TensorType::tf32, tile.a, tile.b, c.data(), after.data());
  EXPECT_NE(before, after);
}

TEST(TensorTileTypes, ModelsWithoutFp8RefuseIt) {
  const Tile tile(1, OperandClass::ordinary,
                  {.k = 32, .a = TensorType::e4m3, .b = TensorType::e4m3});
  std::array<float, 128> c{};
  EXPECT_THROW(tensor_tile(tensor_model("ampere"), TensorType::e4m3, TensorType::e4m3, tile.a,
                           tile.b, c.data(), c.data()),
               Unsupported);
}

TEST(TensorTileTypes, IntegersAreExactAndSaturateOnce) {
  for (const auto& [a_type, b_type, k] : {std::tuple{TensorType::s8, TensorType::u8, 32},
                                          {TensorType::u8, TensorType::s8, 16},
                                          {TensorType::s4, TensorType::u4, 64},
                                          {TensorType::s4, TensorType::s4, 32},
                                          {TensorType::u4, TensorType::u4, 32},
                                          {TensorType::s8, TensorType::s8, 32}}) {
    for (const OperandClass drawn :
         {OperandClass::random_bits, OperandClass::overflow, OperandClass::underflow}) {
      TileForm form;
      form.k = static_cast<std::size_t>(k);
      form.a = a_type;
      form.b = b_type;
      form.accumulator = TensorType::s32;
      const Tile tile(5, drawn, form);
      std::array<std::int32_t, 128> c;
      for (std::size_t i = 0; i < c.size(); ++i) {
        c[i] = static_cast<std::int32_t>(tile.operands.c[i]);
      }
      for (const bool saturate : {false, true}) {
        std::array<std::int32_t, 128> d;
        integer_tile(a_type, b_type, tile.a, tile.b, saturate, c.data(), d.data());
        for (std::size_t i = 0; i < c.size(); ++i) {
          std::int64_t want = c[i];
          std::vector<std::uint32_t> x;
          std::vector<std::uint32_t> y;
          for (std::size_t j = 0; j < form.k; ++j) {
            x.push_back(static_cast<std::uint32_t>(tile.operands.a[i / 8 * form.k + j]));
            y.push_back(static_cast<std::uint32_t>(tile.operands.b[i % 8 * form.k + j]));
            const auto value = [](TensorType type, std::uint32_t bits) -> std::int64_t {
              if (type == TensorType::s8) return static_cast<std::int8_t>(bits);
              if (type == TensorType::s4) return bits >= 8 ? std::int64_t{bits} - 16 : bits;
              return bits;
            };
            want += value(a_type, x.back()) * value(b_type, y.back());
          }
          ASSERT_EQ(integer_dot(a_type, b_type, x, y, c[i], saturate), d[i]);
          if (saturate) {
            want = std::min<std::int64_t>(std::max<std::int64_t>(want, -2147483648LL), 2147483647);
          } else {
            want = static_cast<std::int32_t>(want & 0xffffffffLL);
          }
          ASSERT_EQ(d[i], want) << name(a_type) << ' ' << name(b_type) << ' ' << name(drawn);
        }
      }
    }
  }
}

TEST(TensorTileTypes, OneBitProductsAreCounted) {
  TileForm form;
  form.k = 256;
  form.a = form.b = TensorType::b1;
  form.accumulator = TensorType::s32;
  const Tile tile(5, OperandClass::random_bits, form);
  std::array<std::int32_t, 128> c;
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<std::int32_t>(tile.operands.c[i]);
  for (const BitProduct product : {BitProduct::exclusive_or, BitProduct::bit_and}) {
    std::array<std::int32_t, 128> d;
    bit_tile(product, tile.a, tile.b, c.data(), d.data());
    for (std::size_t i = 0; i < c.size(); ++i) {
      auto want = static_cast<std::uint32_t>(c[i]);
      for (std::size_t k = 0; k < 256; ++k) {
        const std::uint64_t x = tile.operands.a[i / 8 * 256 + k];
        const std::uint64_t y = tile.operands.b[i % 8 * 256 + k];
        want += product == BitProduct::exclusive_or ? x != y : x + y == 2;
      }
      ASSERT_EQ(static_cast<std::uint32_t>(d[i]), want);
    }
  }
}

}  // namespace
}  // namespace bitgate::numeric
