#include "reference/numeric/tensor_core.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "reference/numeric/half.h"
#include "reference/support/error.h"

namespace bitgate::numeric {
namespace {

constexpr std::string_view kMeasured =
    "measured on an H200: 0 mismatches in 30.7 million dot products";
constexpr std::string_view kPublished = "MMA-Sim, arXiv 2511.10909";

constexpr auto kModels = std::to_array<TensorModel>({
    {"volta", 7, 0, 23, 1, false, kPublished},
    {"turing", 7, 5, 24, 1, false, kPublished},
    {"ampere", 8, 0, 24, 2, false, kPublished},
    {"ada", 8, 9, 24, 2, false, kPublished},
    {"hopper", 9, 0, 25, 1, true, kMeasured},
    {"blackwell", 10, 0, 25, 1, false, kPublished},
});

constexpr int kNewestPublished = 12;  // compute capability 12.x, RTX Blackwell

constexpr int kProducts = 16;
// The exponent of a zero term: f32's smallest, so that a zero hides no other term (MMA-Sim).
constexpr int kZeroExponent = -126;
constexpr std::uint32_t kCanonicalNan = 0x7fffffffU;

constexpr int min_exponent(ScalarType type) { return type == ScalarType::f16 ? -14 : -126; }

// value = significand · 2^(exponent - fraction bits), unnormalised for subnormals.
struct Term {
  std::int64_t significand;
  int exponent;
};

Term decode(ScalarType type, std::uint16_t bits) {
  const int fraction_bits = type == ScalarType::f16 ? 10 : 7;
  const int field_mask = type == ScalarType::f16 ? 31 : 255;
  const int field = (bits >> fraction_bits) & field_mask;
  std::int64_t significand = bits & ((1 << fraction_bits) - 1);
  if (field != 0) significand |= std::int64_t{1} << fraction_bits;
  return {(bits & 0x8000) != 0 ? -significand : significand,
          min_exponent(type) + std::max(field, 1) - 1};
}

Term decode(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const int field = static_cast<int>((bits >> 23) & 255);
  std::int64_t significand = bits & 0x7fffff;
  if (field != 0) significand |= 0x800000;
  return {(bits >> 31) != 0 ? -significand : significand, std::max(field, 1) - 127};
}

// significand · 2^shift toward zero.
std::int64_t scaled(std::int64_t significand, int shift) {
  if (significand == 0) return 0;  // its exponent may be larger than any term's that counts
  if (shift >= 0) return significand * (std::int64_t{1} << shift);
  if (shift <= -63) return 0;
  return significand / (std::int64_t{1} << -shift);
}

float toward_zero(std::int64_t sum, int unit_exponent) {
  if (sum == 0) return 0.0F;
  const bool negative = sum < 0;
  const auto magnitude = static_cast<std::uint64_t>(negative ? -sum : sum);
  const int exponent = static_cast<int>(std::bit_width(magnitude)) - 1 + unit_exponent;
  if (exponent > 127) {
    return negative ? -std::numeric_limits<float>::infinity()
                    : std::numeric_limits<float>::infinity();
  }
  const int last_bit = std::max(exponent, -126) - 23;
  const int cut = last_bit - unit_exponent;
  const std::uint64_t kept = cut >= 64 ? 0 : cut >= 0 ? magnitude >> cut : magnitude << -cut;
  if (kept == 0) return 0.0F;  // also for a negative sum
  const float result = std::ldexp(static_cast<float>(kept), last_bit);
  return negative ? -result : result;
}

// c + Σ a·b over `count` products, all of them one sum.
float fused_sum(int fraction_bits, ScalarType type, const std::uint16_t* a, const std::uint16_t* b,
                int count, float c) {
  float special = c;  // NaN and infinity, by IEEE's rules
  bool finite = std::isfinite(c);
  for (int i = 0; i < count; ++i) {
    const float x = to_float(type, a[i]);
    const float y = to_float(type, b[i]);
    if (std::isfinite(x) && std::isfinite(y)) continue;
    finite = false;
    special += x * y;
  }
  if (!finite) {
    // A finite operand cannot change an infinite sum; finite products were left out of it.
    return std::isnan(special) ? std::bit_cast<float>(kCanonicalNan) : special;
  }

  const int product_fraction_bits = type == ScalarType::f16 ? 20 : 14;
  std::array<Term, kProducts> products{};
  const Term accumulator = decode(c);
  int largest = std::max(kZeroExponent, accumulator.exponent);
  for (int i = 0; i < count; ++i) {
    const Term x = decode(type, a[i]);
    const Term y = decode(type, b[i]);
    Term& product = products[static_cast<std::size_t>(i)];
    product = {x.significand * y.significand, x.exponent + y.exponent};
    if (product.significand != 0) largest = std::max(largest, product.exponent);
  }
  std::int64_t sum =
      scaled(accumulator.significand, accumulator.exponent - 23 - largest + fraction_bits);
  for (int i = 0; i < count; ++i) {
    const Term& product = products[static_cast<std::size_t>(i)];
    sum += scaled(product.significand,
                  product.exponent - product_fraction_bits - largest + fraction_bits);
  }
  return toward_zero(sum, largest - fraction_bits);
}

}  // namespace

std::span<const TensorModel> tensor_models() { return kModels; }

const TensorModel& tensor_model(std::string_view name) {
  std::string known;
  for (const TensorModel& model : kModels) {
    if (model.name == name) return model;
    known += known.empty() ? "" : ", ";
    known += model.name;
  }
  throw InputError("no tensor model is named '" + std::string(name) + "'; known are " + known);
}

const TensorModel& tensor_model_for(int compute_capability_major, int compute_capability_minor) {
  const int wanted = 10 * compute_capability_major + compute_capability_minor;
  const TensorModel* found = nullptr;
  const bool unknown = compute_capability_major > kNewestPublished;
  for (const TensorModel& model : kModels) {
    // 8.6 and 8.7 are Ampere's, 12.0 is Blackwell's: the newest that is not newer.
    if (10 * model.compute_capability_major + model.compute_capability_minor <= wanted) {
      found = &model;
    }
  }
  if (found == nullptr || unknown) {
    throw InputError("no tensor model for compute capability " +
                     std::to_string(compute_capability_major) + "." +
                     std::to_string(compute_capability_minor) +
                     ": published are 7.0 (Volta) to 12.x (Blackwell)");
  }
  return *found;
}

float tensor_core_dot16(const TensorModel& model, ScalarType type, const std::uint16_t* a,
                        const std::uint16_t* b, float c) {
  const int count = kProducts / model.parts;
  for (int first = 0; first < kProducts; first += count) {
    c = fused_sum(model.fraction_bits, type, a + first, b + first, count, c);
  }
  return c;
}

}  // namespace bitgate::numeric
