#include "reference/numeric/tensor_core.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/numeric/half.h"
#include "reference/numeric/tensor_dot.h"
#include "reference/support/error.h"

namespace bitgate::numeric {
namespace {

// The exponent of a zero term: f32's smallest, so that a zero hides no other term (MMA-Sim).
constexpr int kZeroExponent = -126;
constexpr std::uint32_t kCanonicalNan = 0x7fffffffU;
constexpr std::uint16_t kCanonicalHalfNan = 0x7fffU;
constexpr std::size_t kMostProducts = 32;
constexpr int kOperandBits = 256;  // of one row of A in the largest instruction of a type

using Elements = std::span<const std::uint32_t>;

// How the products of one type are summed.
struct Rule {
  int fraction_bits;
  std::size_t products_a_sum;
  int result_fraction_bits;
};

Rule rule_of(const TensorModel& model, TensorType type) {
  const bool fp8 = layout(type).bits == 8;
  const int parts = fp8 ? model.fp8.parts : model.parts;
  return {fp8 ? model.fp8.fraction_bits : model.fraction_bits,
          static_cast<std::size_t>(kOperandBits / layout(type).bits / parts),
          fp8 ? model.fp8.result_fraction_bits : 23};
}

// value = significand · 2^(exponent - fraction bits), unnormalised for subnormals.
struct Term {
  std::int64_t significand;
  int exponent;
};

Term decode(TensorType type, std::uint32_t bits) {
  const TensorTypeLayout sizes = layout(type);
  if (type == TensorType::tf32) bits >>= 13;  // the rest is not read
  const std::uint32_t field = bits >> sizes.fraction & ((1U << sizes.exponent) - 1);
  std::int64_t significand = bits & ((1U << sizes.fraction) - 1);
  if (field != 0) significand |= std::int64_t{1} << sizes.fraction;
  const bool negative = (bits >> (sizes.exponent + sizes.fraction) & 1U) != 0;
  const int bias = (1 << (sizes.exponent - 1)) - 1;
  return {negative ? -significand : significand, std::max(static_cast<int>(field), 1) - bias};
}

// significand · 2^shift toward zero.
std::int64_t scaled(std::int64_t significand, int shift) {
  if (significand == 0) return 0;  // its exponent may be larger than any term's that counts
  if (shift >= 0) return significand * (std::int64_t{1} << shift);
  if (shift <= -63) return 0;
  return significand / (std::int64_t{1} << -shift);
}

// A sum before it is rounded: exact, or what IEEE's rules make of NaN and infinity.
struct Sum {
  bool finite;
  float special;
  std::int64_t units;
  int unit_exponent;
};

// `c_least_exponent`: what the accumulator's type gives its subnormals.
Sum fused_sum(int fraction_bits, TensorType a_type, TensorType b_type, Elements a, Elements b,
              float c, int c_least_exponent) {
  float special = c;
  bool finite = std::isfinite(c);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float x = element_value(a_type, a[i]);
    const float y = element_value(b_type, b[i]);
    if (std::isfinite(x) && std::isfinite(y)) continue;
    finite = false;
    special += x * y;
  }
  // A finite operand cannot change an infinite sum; finite products were left out of it.
  if (!finite) return {false, special, 0, 0};

  const int product_fraction_bits = layout(a_type).fraction + layout(b_type).fraction;
  std::array<Term, kMostProducts> products{};
  const Term accumulator = decode(TensorType::f32, std::bit_cast<std::uint32_t>(c));
  int largest = kZeroExponent;
  if (c != 0) largest = std::max(c_least_exponent, accumulator.exponent);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Term x = decode(a_type, a[i]);
    const Term y = decode(b_type, b[i]);
    Term& product = products[i];
    product = {x.significand * y.significand, x.exponent + y.exponent};
    if (product.significand != 0) largest = std::max(largest, product.exponent);
  }
  std::int64_t sum =
      scaled(accumulator.significand, accumulator.exponent - 23 - largest + fraction_bits);
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += scaled(products[i].significand,
                  products[i].exponent - product_fraction_bits - largest + fraction_bits);
  }
  return {true, 0, sum, largest - fraction_bits};
}

float toward_zero(const Sum& sum, int fraction_bits) {
  if (!sum.finite)
    return std::isnan(sum.special) ? std::bit_cast<float>(kCanonicalNan) : sum.special;
  if (sum.units == 0) return 0.0F;
  const bool negative = sum.units < 0;
  const auto magnitude = static_cast<std::uint64_t>(negative ? -sum.units : sum.units);
  const int exponent = static_cast<int>(std::bit_width(magnitude)) - 1 + sum.unit_exponent;
  if (exponent > 127) {
    return negative ? -std::numeric_limits<float>::infinity()
                    : std::numeric_limits<float>::infinity();
  }
  const int last_bit = std::max(exponent, -126) - fraction_bits;
  const int cut = last_bit - sum.unit_exponent;
  const std::uint64_t kept = cut >= 64 ? 0 : cut >= 0 ? magnitude >> cut : magnitude << -cut;
  if (kept == 0) return 0.0F;  // also for a negative sum
  const float result = std::ldexp(static_cast<float>(kept), last_bit);
  return negative ? -result : result;
}

// |units| is below 2^53: exact as an f64, which is rounded once.
std::uint16_t to_nearest_half(const Sum& sum) {
  if (!sum.finite) {
    return std::isnan(sum.special) ? kCanonicalHalfNan
                                   : to_half(static_cast<double>(sum.special)).bits;
  }
  const std::uint16_t bits =
      to_half(std::ldexp(static_cast<double>(sum.units), sum.unit_exponent)).bits;
  return bits == 0x8000 ? 0 : bits;
}

void refuse_without_fp8(const TensorModel& model) {
  if (model.fp8.kind == Fp8Rule::Kind::absent) {
    throw Unsupported("the tensor model '" + std::string(model.name) +
                      "' has no mma of e4m3 and e5m2");
  }
}

// fp8 as f16 elements, those with k % 4 in {0, 1} first.
struct HalfOperands {
  std::array<std::uint32_t, kMostProducts> values{};
  std::size_t count = 0;

  HalfOperands(TensorType type, Elements elements) {
    for (std::size_t pair = 0; pair < 2; ++pair) {
      for (std::size_t k = 0; k < elements.size(); ++k) {
        if (k % 4 / 2 != pair) continue;
        values[count++] = to_half(static_cast<double>(element_value(type, elements[k]))).bits;
      }
    }
  }
  Elements half(std::size_t which) const {
    return Elements(values).subspan(which * count / 2, count / 2);
  }
};

}  // namespace

float element_value(TensorType type, std::uint32_t bits) {
  const TensorTypeLayout sizes = layout(type);
  if (type == TensorType::f32) return std::bit_cast<float>(bits);
  if (type == TensorType::tf32) return std::bit_cast<float>(bits & 0xffffe000U);
  const std::uint32_t field = bits >> sizes.fraction & ((1U << sizes.exponent) - 1);
  const std::uint32_t fraction = bits & ((1U << sizes.fraction) - 1);
  const bool largest_field = field == (1U << sizes.exponent) - 1;
  const bool negative = (bits >> (sizes.bits - 1) & 1U) != 0;
  if (type == TensorType::e4m3 ? (bits & 0x7f) == 0x7f : largest_field && fraction != 0) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (type != TensorType::e4m3 && largest_field) {
    return negative ? -std::numeric_limits<float>::infinity()
                    : std::numeric_limits<float>::infinity();
  }
  const Term term = decode(type, bits);
  const float magnitude =
      std::ldexp(static_cast<float>(negative ? -term.significand : term.significand),
                 term.exponent - sizes.fraction);
  return negative ? -magnitude : magnitude;
}

float tensor_dot(const TensorModel& model, TensorType a_type, TensorType b_type, Elements a,
                 Elements b, float c) {
  if (layout(a_type).bits == 8) {
    refuse_without_fp8(model);
    if (model.fp8.kind == Fp8Rule::Kind::two_f16_mma) {
      const HalfOperands x(a_type, a);
      const HalfOperands y(b_type, b);
      float product = 0;
      for (std::size_t i = 0; i < 2; ++i) {
        product =
            tensor_dot(model, TensorType::f16, TensorType::f16, x.half(i), y.half(i), product);
      }
      const float sum = c + product;
      return std::isnan(sum) ? std::bit_cast<float>(kCanonicalNan) : sum;
    }
  }
  const Rule rule = rule_of(model, a_type);
  for (std::size_t first = 0; first < a.size(); first += rule.products_a_sum) {
    const std::size_t count = std::min(rule.products_a_sum, a.size() - first);
    c = toward_zero(fused_sum(rule.fraction_bits, a_type, b_type, a.subspan(first, count),
                              b.subspan(first, count), c, -126),
                    rule.result_fraction_bits);
  }
  return c;
}

std::uint16_t tensor_dot_f16(const TensorModel& model, TensorType a_type, TensorType b_type,
                             Elements a, Elements b, std::uint16_t c) {
  if (layout(a_type).bits == 8) {
    refuse_without_fp8(model);
    if (model.fp8.kind == Fp8Rule::Kind::two_f16_mma) {
      const HalfOperands x(a_type, a);
      const HalfOperands y(b_type, b);
      std::uint16_t product = 0;
      for (std::size_t i = 0; i < 2; ++i) {
        product =
            tensor_dot_f16(model, TensorType::f16, TensorType::f16, x.half(i), y.half(i), product);
      }
      // Two halves' sum is exact in f64.
      return to_half(static_cast<double>(to_float(Half{c})) +
                     static_cast<double>(to_float(Half{product})))
          .bits;
    }
  }
  const Rule rule = rule_of(model, a_type);
  for (std::size_t first = 0; first < a.size(); first += rule.products_a_sum) {
    const std::size_t count = std::min(rule.products_a_sum, a.size() - first);
    c = to_nearest_half(fused_sum(rule.fraction_bits, a_type, b_type, a.subspan(first, count),
                                  b.subspan(first, count), to_float(Half{c}), -14));
  }
  return c;
}

std::int32_t integer_dot(TensorType a_type, TensorType b_type, Elements a, Elements b,
                         std::int32_t c, bool saturate) {
  const auto value = [](TensorType type, std::uint32_t bits) {
    const TensorTypeLayout sizes = layout(type);
    const auto all = static_cast<std::int64_t>(bits & ((1U << sizes.bits) - 1));
    const bool negative = sizes.is_signed && (bits >> (sizes.bits - 1) & 1U) != 0;
    return negative ? all - (std::int64_t{1} << sizes.bits) : all;
  };
  std::int64_t sum = c;
  for (std::size_t i = 0; i < a.size(); ++i) sum += value(a_type, a[i]) * value(b_type, b[i]);
  if (saturate) {
    sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                   std::numeric_limits<std::int32_t>::max());
  }
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
}

float tensor_core_dot16(const TensorModel& model, ScalarType type, const std::uint16_t* a,
                        const std::uint16_t* b, float c) {
  std::array<std::uint32_t, 16> x;
  std::array<std::uint32_t, 16> y;
  std::copy_n(a, x.size(), x.begin());
  std::copy_n(b, y.size(), y.begin());
  const TensorType same = type == ScalarType::f16 ? TensorType::f16 : TensorType::bf16;
  return tensor_dot(model, same, same, x, y, c);
}

}  // namespace bitgate::numeric
