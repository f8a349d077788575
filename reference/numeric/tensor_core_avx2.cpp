#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "reference/numeric/half.h"
#include "reference/numeric/tensor_core.h"
#include "reference/numeric/tensor_core_operands.h"

// The rule of tensor_core.h for eight outputs at once, in f32 and 32-bit integers: a product of two
// 16-bit numbers is exact in f32, and multiplying it by 2^(fraction bits - E) and converting to an
// integer truncates it where the rule does. Outputs whose E is outside the range in which that is
// exact go the scalar way.

namespace bitgate::numeric {
namespace {

constexpr std::size_t kRows = 16;
constexpr std::size_t kColumns = 8;
constexpr std::size_t kProducts = 16;

// A zero's exponent plus any other stays below, a NaN's or infinity's above, what ordinary terms
// reach.
constexpr int kZero = -2000;
constexpr int kSpecial = 8000;
constexpr int kAllZero = -1000;
// Between these every step in f32 is exact, or its term is truncated to zero all the same.
constexpr int kLowest = -100;
constexpr int kHighest = 120;

constexpr int min_exponent(ScalarType type) { return type == ScalarType::f16 ? -14 : -126; }

__m256 load_as_float(ScalarType type, const std::uint16_t* bits) {
  const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bits));
  if (type == ScalarType::f16) return _mm256_cvtph_ps(raw);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
}

// Unnormalised exponents of eight numbers; `lowest` is that of the type's subnormals.
__m256i exponents(__m256 values, int lowest) {
  const __m256i magnitude =
      _mm256_and_si256(_mm256_castps_si256(values), _mm256_set1_epi32(0x7fffffff));
  const __m256i field = _mm256_srli_epi32(magnitude, 23);
  const __m256i ordinary =
      _mm256_max_epi32(_mm256_sub_epi32(field, _mm256_set1_epi32(127)), _mm256_set1_epi32(lowest));
  const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
  const __m256i special = _mm256_cmpeq_epi32(field, _mm256_set1_epi32(255));
  const __m256i finite = _mm256_blendv_epi8(ordinary, _mm256_set1_epi32(kZero), zero);
  return _mm256_blendv_epi8(finite, _mm256_set1_epi32(kSpecial), special);
}

__m256i load(const std::array<std::int16_t, 16>& words) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(words.data()));
}

void store(std::array<std::int16_t, 16>& words, __m256i value) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(words.data()), value);
}

void store_columns(int lowest, const __m256 (&k)[kProducts], TensorCoreColumns& columns) {
  for (std::size_t i = 0; i < kProducts; i += 2) {
    _mm256_store_ps(columns.values[i].data(), k[i]);
    _mm256_store_ps(columns.values[i + 1].data(), k[i + 1]);
    const __m256i even = exponents(k[i], lowest);
    const __m256i odd = _mm256_slli_epi32(exponents(k[i + 1], lowest), 16);
    store(columns.exponents[i / 2], _mm256_blend_epi16(even, odd, 0xaa));
  }
}

void store_row(ScalarType type, const std::uint16_t* bits, TensorCoreRow& row) {
  const __m256 low = load_as_float(type, bits);
  const __m256 high = load_as_float(type, bits + 8);
  _mm256_store_ps(row.values.data(), low);
  _mm256_store_ps(row.values.data() + 8, high);
  const __m256i packed =
      _mm256_packs_epi32(exponents(low, min_exponent(type)), exponents(high, min_exponent(type)));
  store(row.exponents, _mm256_permute4x64_epi64(packed, 0xd8));
}

void transpose8(__m256* rows) {
  __m256 pairs[8];
  for (std::size_t i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  __m256 quads[8];
  for (std::size_t i = 0; i < 8; i += 4) {
    quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    rows[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
    rows[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
  }
}

// Four sums of products and accumulator, cut toward zero to the 24 bits of an f32.
__m128 cut(__m128i products, __m128i accumulator) {
  const __m256d sum = _mm256_add_pd(_mm256_cvtepi32_pd(products), _mm256_cvtepi32_pd(accumulator));
  const auto f32_significand = static_cast<long long>(~std::uint64_t{0} << 29);
  return _mm256_cvtpd_ps(
      _mm256_and_pd(sum, _mm256_castsi256_pd(_mm256_set1_epi64x(f32_significand))));
}

// As exponents(), for an accumulator: only zero needs care, since those of subnormals, NaN and
// infinity are outside the exact range as they are.
__m256i accumulator_exponents(__m256 values) {
  const __m256i magnitude =
      _mm256_and_si256(_mm256_castps_si256(values), _mm256_set1_epi32(0x7fffffff));
  const __m256i exponent =
      _mm256_sub_epi32(_mm256_srli_epi32(magnitude, 23), _mm256_set1_epi32(127));
  return _mm256_blendv_epi8(exponent, _mm256_set1_epi32(kZero),
                            _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256()));
}

// Eight outputs over the products [first, first + kCount). Returns the lanes that are out of the
// exact range as a bit mask; their results are meaningless.
template <std::size_t kCount>
inline int sum_products(int fraction_bits, const TensorCoreRow& row,
                        const TensorCoreColumns& columns, std::size_t first, __m256 c,
                        __m256& result) {
  __m256i pairs = _mm256_set1_epi16(static_cast<std::int16_t>(2 * kZero));
  for (std::size_t k = first; k < first + kCount; k += 2) {
    std::int32_t both;
    __builtin_memcpy(&both, &row.exponents[k], sizeof(both));
    pairs = _mm256_max_epi16(
        pairs, _mm256_add_epi16(_mm256_set1_epi32(both), load(columns.exponents[k / 2])));
  }
  __m256i largest = _mm256_max_epi32(_mm256_srai_epi32(pairs, 16),
                                     _mm256_srai_epi32(_mm256_slli_epi32(pairs, 16), 16));
  largest = _mm256_max_epi32(largest, accumulator_exponents(c));
  const __m256i too_high = _mm256_cmpgt_epi32(largest, _mm256_set1_epi32(kHighest));
  const __m256i too_low =
      _mm256_and_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(kLowest), largest),
                       _mm256_cmpgt_epi32(largest, _mm256_set1_epi32(kAllZero)));
  const int outside = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_or_si256(too_high, too_low)));
  largest = _mm256_max_epi32(largest, _mm256_set1_epi32(kLowest));

  // 2^(fraction bits - E), which makes units of the terms, and its inverse.
  const __m256 scale = _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_sub_epi32(_mm256_set1_epi32(127 + fraction_bits), largest), 23));
  const __m256 unit = _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_set1_epi32(127 - fraction_bits), largest), 23));
  // |term| < 2^(fraction bits + 2) and a product's significand is below 4 by 2^-8 at least: sixteen
  // stay below 2^31. The accumulator might carry them over it, so it joins in f64.
  __m256i sum = _mm256_setzero_si256();
  for (std::size_t k = first; k < first + kCount; ++k) {
    const __m256 product =
        _mm256_mul_ps(_mm256_set1_ps(row.values[k]), _mm256_load_ps(columns.values[k].data()));
    sum = _mm256_add_epi32(sum, _mm256_cvttps_epi32(_mm256_mul_ps(product, scale)));
  }
  const __m256i accumulator = _mm256_cvttps_epi32(_mm256_mul_ps(c, scale));
  const __m128 low = cut(_mm256_castsi256_si128(sum), _mm256_castsi256_si128(accumulator));
  const __m128 high =
      cut(_mm256_extracti128_si256(sum, 1), _mm256_extracti128_si256(accumulator, 1));
  // Exact, and infinite from 2^128 on: the unit is 2^-125 at least, so no result is subnormal.
  result = _mm256_mul_ps(_mm256_set_m128(high, low), unit);
  return outside;
}

[[gnu::noinline]] void scalar_lanes(const TensorModel& model, ScalarType type,
                                    const TensorCoreRow& row, const TensorCoreColumns& columns,
                                    int lanes, const float* c, float* d) {
  std::array<std::uint16_t, kProducts> a;
  for (std::size_t k = 0; k < kProducts; ++k) {
    a[k] = round_to(type, static_cast<double>(row.values[k]));
  }
  for (std::size_t n = 0; n < kColumns; ++n) {
    if (((lanes >> n) & 1) == 0) continue;
    std::array<std::uint16_t, kProducts> b;
    for (std::size_t k = 0; k < kProducts; ++k) {
      b[k] = round_to(type, static_cast<double>(columns.values[k][n]));
    }
    d[n] = tensor_core_dot16(model, type, a.data(), b.data(), c[n]);
  }
}

template <int kParts>
[[gnu::always_inline]] inline void step(const TensorModel& model, ScalarType type,
                                        const TensorCoreRow& row, const TensorCoreColumns& columns,
                                        const float* c, float* d) {
  const __m256 start = _mm256_loadu_ps(c);
  __m256 result = start;
  int outside = 0;
  for (std::size_t first = 0; first < kProducts; first += kProducts / kParts) {
    outside |=
        sum_products<kProducts / kParts>(model.fraction_bits, row, columns, first, result, result);
  }
  if (outside == 0) [[likely]] {
    _mm256_storeu_ps(d, result);
    return;
  }
  alignas(32) std::array<float, kColumns> before;
  alignas(32) std::array<float, kColumns> after;
  _mm256_store_ps(before.data(), start);
  _mm256_store_ps(after.data(), result);
  scalar_lanes(model, type, row, columns, outside, before.data(), after.data());
  _mm256_storeu_ps(d, _mm256_load_ps(after.data()));
}

template <int kParts>
void tile(const TensorModel& model, ScalarType type, const std::uint16_t* a, const std::uint16_t* b,
          const float* c, float* d) {
  __m256 k[kProducts];
  for (std::size_t half = 0; half < kProducts; half += 8) {
    for (std::size_t n = 0; n < kColumns; ++n) {
      k[half + n] = load_as_float(type, b + n * kProducts + half);
    }
    transpose8(k + half);
  }
  TensorCoreColumns columns;
  store_columns(min_exponent(type), k, columns);
  TensorCoreRow rows[kRows];
  for (std::size_t m = 0; m < kRows; ++m) store_row(type, a + m * kProducts, rows[m]);
  for (std::size_t m = 0; m < kRows; ++m) {
    step<kParts>(model, type, rows[m], columns, c + m * kColumns, d + m * kColumns);
  }
}

}  // namespace

void decode_row(ScalarType type, const std::uint16_t* bits, TensorCoreRow& row) {
  store_row(type, bits, row);
}

void decode_columns(ScalarType type, const float* values, std::size_t stride,
                    TensorCoreColumns& columns) {
  __m256 k[kProducts];
  for (std::size_t i = 0; i < kProducts; ++i) k[i] = _mm256_loadu_ps(values + i * stride);
  store_columns(min_exponent(type), k, columns);
}

void tensor_core_row(const TensorModel& model, ScalarType type, const TensorCoreRow& row,
                     const TensorCoreColumns& columns, const float* c, float* d) {
  if (model.parts == 1) {
    step<1>(model, type, row, columns, c, d);
  } else {
    step<2>(model, type, row, columns, c, d);
  }
}

void tensor_core_m16n8k16(const TensorModel& model, ScalarType type, const std::uint16_t* a,
                          const std::uint16_t* b, const float* c, float* d) {
  if (model.parts == 1) {
    tile<1>(model, type, a, b, c, d);
  } else {
    tile<2>(model, type, a, b, c, d);
  }
}

}  // namespace bitgate::numeric
