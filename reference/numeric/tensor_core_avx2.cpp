#include <immintrin.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "reference/numeric/half.h"
#include "reference/numeric/tensor_core.h"
#include "reference/numeric/tensor_core_operands.h"
#include "reference/numeric/tensor_core_steps.h"
#include "reference/numeric/tensor_dot.h"

// The rule of tensor_core.h for eight outputs at once, in f32 and 32-bit integers: a product of two
// numbers of f16, bf16 or tf32 is exact in f32, and multiplying it by 2^(fraction bits - E) and
// converting to an integer truncates it where the rule does. Outputs whose E is outside the range
// in which that is exact go the scalar way.

namespace bitgate::numeric {
namespace {

constexpr std::size_t kColumns = 8;

/// Products of a step: k16 of the 16-bit types, k8 of tf32.
template <TensorType Type>
constexpr std::size_t kProducts = Type == TensorType::tf32 ? 8 : 16;

// A zero's exponent plus any other stays below, a NaN's or infinity's above, what ordinary terms
// reach.
constexpr int kZero = -2000;
constexpr int kSpecial = 8000;
constexpr int kAllZero = -1000;
// Between these every step in f32 is exact, or its term is truncated to zero all the same.
constexpr int kLowest = -100;
constexpr int kHighest = 120;

constexpr int min_exponent(TensorType type) { return type == TensorType::f16 ? -14 : -126; }

/// Eight elements, from the first of a row's 32 bytes (bits) or from its ninth.
template <TensorType Type>
__m256 load_as_float(const std::byte* bits) {
  if constexpr (Type == TensorType::tf32) {
    const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits));
    return _mm256_castsi256_ps(_mm256_and_si256(raw, _mm256_set1_epi32(~0x1fff)));
  } else {
    const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bits));
    if constexpr (Type == TensorType::f16) return _mm256_cvtph_ps(raw);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
  }
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

template <std::size_t Count>
void store_columns(int lowest, const __m256 (&k)[Count], TensorCoreColumns& columns) {
  for (std::size_t i = 0; i < Count; i += 2) {
    _mm256_store_ps(columns.values[i].data(), k[i]);
    _mm256_store_ps(columns.values[i + 1].data(), k[i + 1]);
    const __m256i even = exponents(k[i], lowest);
    const __m256i odd = _mm256_slli_epi32(exponents(k[i + 1], lowest), 16);
    store(columns.exponents[i / 2], _mm256_blend_epi16(even, odd, 0xaa));
  }
}

template <TensorType Type>
void store_row(const std::byte* bits, TensorCoreRow& row) {
  constexpr int kLowestOfType = min_exponent(Type);
  const __m256 low = load_as_float<Type>(bits);
  _mm256_store_ps(row.values.data(), low);
  const __m256i low_exponents = exponents(low, kLowestOfType);
  __m256i high_exponents = low_exponents;
  if constexpr (kProducts<Type> == 16) {
    const __m256 high = load_as_float<Type>(bits + 16);
    _mm256_store_ps(row.values.data() + 8, high);
    high_exponents = exponents(high, kLowestOfType);
  }
  const __m256i packed = _mm256_packs_epi32(low_exponents, high_exponents);
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

// Four sums of products and accumulator, cut toward zero to the 24 bits of an f32; of `ToHalf`, the
// last bit says that something was cut off (round to odd), so that rounding to f16 is done once.
template <bool ToHalf>
__m128 cut(__m128i products, __m128i accumulator) {
  const __m256d sum = _mm256_add_pd(_mm256_cvtepi32_pd(products), _mm256_cvtepi32_pd(accumulator));
  const auto f32_significand = static_cast<long long>(~std::uint64_t{0} << 29);
  const __m256i kept = _mm256_set1_epi64x(f32_significand);
  __m256i bits = _mm256_and_si256(_mm256_castpd_si256(sum), kept);
  if constexpr (ToHalf) {
    const __m256i exact = _mm256_cmpeq_epi64(bits, _mm256_castpd_si256(sum));
    const __m256i odd = _mm256_set1_epi64x(1LL << 29);
    bits = _mm256_or_si256(bits, _mm256_andnot_si256(exact, odd));
  }
  return _mm256_cvtpd_ps(_mm256_castsi256_pd(bits));
}

// As exponents(), for an f32 accumulator: only zero needs care, since those of subnormals, NaN and
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
template <std::size_t kCount, bool ToHalf>
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
  const __m256i of_accumulator =
      ToHalf ? exponents(c, min_exponent(TensorType::f16)) : accumulator_exponents(c);
  largest = _mm256_max_epi32(largest, of_accumulator);
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
  const __m128 low = cut<ToHalf>(_mm256_castsi256_si128(sum), _mm256_castsi256_si128(accumulator));
  const __m128 high =
      cut<ToHalf>(_mm256_extracti128_si256(sum, 1), _mm256_extracti128_si256(accumulator, 1));
  // Exact, and infinite from 2^128 on: the unit is 2^-125 at least, so no result is subnormal.
  result = _mm256_mul_ps(_mm256_set_m128(high, low), unit);
  if constexpr (ToHalf) {
    // Adding +0 makes +0 of a negative sum that underflows.
    constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    result =
        _mm256_add_ps(_mm256_cvtph_ps(_mm256_cvtps_ph(result, kToNearest)), _mm256_setzero_ps());
  }
  return outside;
}

template <TensorType Type>
std::uint32_t bits_of(float value) {
  if constexpr (Type == TensorType::tf32) return std::bit_cast<std::uint32_t>(value);
  const ScalarType scalar = Type == TensorType::f16 ? ScalarType::f16 : ScalarType::bf16;
  return round_to(scalar, static_cast<double>(value));
}

template <TensorType Type, bool ToHalf>
[[gnu::noinline]] void scalar_lanes(const TensorModel& model, const TensorCoreRow& row,
                                    const TensorCoreColumns& columns, int lanes, const float* c,
                                    float* d) {
  std::array<std::uint32_t, kProducts<Type>> a;
  std::array<std::uint32_t, kProducts<Type>> b;
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = bits_of<Type>(row.values[k]);
  for (std::size_t n = 0; n < kColumns; ++n) {
    if (((lanes >> n) & 1) == 0) continue;
    for (std::size_t k = 0; k < b.size(); ++k) b[k] = bits_of<Type>(columns.values[k][n]);
    if constexpr (ToHalf) {
      const std::uint16_t start = to_half(static_cast<double>(c[n])).bits;
      d[n] = to_float(Half{tensor_dot_f16(model, Type, Type, a, b, start)});
    } else {
      d[n] = tensor_dot(model, Type, Type, a, b, c[n]);
    }
  }
}

/// Eight outputs of a step, accumulators as f32.
template <TensorType Type, int kParts, bool ToHalf>
[[gnu::always_inline]] inline __m256 step(const TensorModel& model, const TensorCoreRow& row,
                                          const TensorCoreColumns& columns, __m256 start) {
  constexpr std::size_t kCount = kProducts<Type> / kParts;
  __m256 result = start;
  int outside = 0;
  for (std::size_t first = 0; first < kProducts<Type>; first += kCount) {
    outside |=
        sum_products<kCount, ToHalf>(model.fraction_bits, row, columns, first, result, result);
  }
  if (outside == 0) [[likely]]
    return result;
  alignas(32) std::array<float, kColumns> before;
  alignas(32) std::array<float, kColumns> after;
  _mm256_store_ps(before.data(), start);
  _mm256_store_ps(after.data(), result);
  scalar_lanes<Type, ToHalf>(model, row, columns, outside, before.data(), after.data());
  return _mm256_load_ps(after.data());
}

template <TensorType Type>
void load_columns(const std::byte* b, TensorCoreColumns& columns) {
  __m256 k[kProducts<Type>];
  for (std::size_t half = 0; half < kProducts<Type>; half += 8) {
    for (std::size_t n = 0; n < kColumns; ++n) {
      k[half + n] = load_as_float<Type>(b + n * sizeof(TileRow) + half / 8 * 16);
    }
    transpose8(k + half);
  }
  store_columns(min_exponent(Type), k, columns);
}

/// Accumulators of eight columns, f32 or f16 by their bits.
__m256 load_accumulators(const float* c) { return _mm256_loadu_ps(c); }
__m256 load_accumulators(const std::uint16_t* c) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(c)));
}
void store_accumulators(__m256 value, float* d) { _mm256_storeu_ps(d, value); }
void store_accumulators(__m256 value, std::uint16_t* d) {
  // A NaN is canonical as an f32, and its upper bits are f16's.
  constexpr int kExact = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(d), _mm256_cvtps_ph(value, kExact));
}

template <TensorType Type, int kParts, class Accumulator>
void tile(const TensorModel& model, std::size_t rows, const std::byte* a, const std::byte* b,
          const Accumulator* c, Accumulator* d) {
  constexpr std::size_t kTogether = 16;  // decoded before the first is used: the loads overlap
  TensorCoreColumns columns;
  load_columns<Type>(b, columns);
  TensorCoreRow decoded[kTogether];
  for (std::size_t first = 0; first < rows; first += kTogether) {
    const std::size_t count = rows - first < kTogether ? rows - first : kTogether;
    for (std::size_t m = 0; m < count; ++m) {
      store_row<Type>(a + (first + m) * sizeof(TileRow), decoded[m]);
    }
    for (std::size_t m = 0; m < count; ++m) {
      const std::size_t at = (first + m) * kColumns;
      const __m256 sum = step<Type, kParts, std::is_same_v<Accumulator, std::uint16_t>>(
          model, decoded[m], columns, load_accumulators(c + at));
      store_accumulators(sum, d + at);
    }
  }
}

template <TensorType Type, class Accumulator>
void tile_of(const TensorModel& model, std::size_t rows, const std::byte* a, const std::byte* b,
             const Accumulator* c, Accumulator* d) {
  if (model.parts == 1) {
    tile<Type, 1>(model, rows, a, b, c, d);
  } else {
    tile<Type, 2>(model, rows, a, b, c, d);
  }
}

template <TensorType Type>
void row_step(const TensorModel& model, const TensorCoreRow& row, const TensorCoreColumns& columns,
              const float* c, float* d) {
  const __m256 start = _mm256_loadu_ps(c);
  _mm256_storeu_ps(d, model.parts == 1 ? step<Type, 1, false>(model, row, columns, start)
                                       : step<Type, 2, false>(model, row, columns, start));
}

}  // namespace

void vector_tile(const TensorModel& model, TensorType type, TileRowsA a, TileRowsB b,
                 const float* c, float* d) {
  const auto* left = reinterpret_cast<const std::byte*>(a.data());
  const auto* right = reinterpret_cast<const std::byte*>(b.data());
  switch (type) {
    case TensorType::f16:
      return tile_of<TensorType::f16>(model, a.size(), left, right, c, d);
    case TensorType::bf16:
      return tile_of<TensorType::bf16>(model, a.size(), left, right, c, d);
    default:
      return tile_of<TensorType::tf32>(model, a.size(), left, right, c, d);
  }
}

void vector_tile_f16(const TensorModel& model, TileRowsA a, TileRowsB b, const std::uint16_t* c,
                     std::uint16_t* d) {
  tile_of<TensorType::f16>(model, a.size(), reinterpret_cast<const std::byte*>(a.data()),
                           reinterpret_cast<const std::byte*>(b.data()), c, d);
}

void decode_row(ScalarType type, const std::uint16_t* bits, TensorCoreRow& row) {
  const auto* bytes = reinterpret_cast<const std::byte*>(bits);
  if (type == ScalarType::f16) {
    store_row<TensorType::f16>(bytes, row);
  } else {
    store_row<TensorType::bf16>(bytes, row);
  }
}

void decode_columns(ScalarType type, const float* values, std::size_t stride,
                    TensorCoreColumns& columns) {
  __m256 k[16];
  for (std::size_t i = 0; i < 16; ++i) k[i] = _mm256_loadu_ps(values + i * stride);
  store_columns(min_exponent(type == ScalarType::f16 ? TensorType::f16 : TensorType::bf16), k,
                columns);
}

void tensor_core_row(const TensorModel& model, ScalarType type, const TensorCoreRow& row,
                     const TensorCoreColumns& columns, const float* c, float* d) {
  if (type == ScalarType::f16) {
    row_step<TensorType::f16>(model, row, columns, c, d);
  } else {
    row_step<TensorType::bf16>(model, row, columns, c, d);
  }
}

void tensor_core_m16n8k16(const TensorModel& model, ScalarType type, const std::uint16_t* a,
                          const std::uint16_t* b, const float* c, float* d) {
  const auto* left = reinterpret_cast<const std::byte*>(a);
  const auto* right = reinterpret_cast<const std::byte*>(b);
  if (type == ScalarType::f16) {
    tile_of<TensorType::f16>(model, 16, left, right, c, d);
  } else {
    tile_of<TensorType::bf16>(model, 16, left, right, c, d);
  }
}

}  // namespace bitgate::numeric
