#pragma once

#include <immintrin.h>

#include <cstdint>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/nan.h"

namespace bitgate::machine {

/// f16 and bf16 eight lanes at a time: how registers of pairs become vectors of floats and back,
/// and the conversions that kernels execute most.

inline constexpr int kVector = 8;  // lanes of one AVX2 register

/// The elements of 8 lanes as two vectors of floats, in an order that load and store agree on.
struct Elements {
  __m256 part[2];
};

inline __m256i nan_mask(__m256 v) { return _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)); }

struct F16 {
  static Elements load(const std::uint32_t* lanes) {
    const auto* halves = reinterpret_cast<const __m128i*>(lanes);
    return {{_mm256_cvtph_ps(_mm_load_si128(halves)), _mm256_cvtph_ps(_mm_load_si128(halves + 1))}};
  }
  static __m256i store(const Elements& e) {
    // The f32 NaN 0x7fffffff narrows to 0x7fff.
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kNan32)));
    __m128i half[2];
    for (int i = 0; i < 2; ++i) {
      const __m256 v = _mm256_blendv_ps(e.part[i], nan, _mm256_castsi256_ps(nan_mask(e.part[i])));
      half[i] = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    return _mm256_set_m128i(half[1], half[0]);
  }
  /// Lanes in which rounding `v`, itself rounded from a longer result, may differ from rounding
  /// that result: midpoints between f16 numbers, and what is subnormal in f16.
  static int suspicious(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i midpoint = _mm256_cmpeq_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x1fff)),
                                                _mm256_set1_epi32(0x1000));
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    const __m256i small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x38800000), magnitude);
    const __m256i nonzero = _mm256_cmpgt_epi32(magnitude, _mm256_setzero_si256());
    return _mm256_movemask_ps(
        _mm256_castsi256_ps(_mm256_or_si256(midpoint, _mm256_and_si256(small, nonzero))));
  }
  static constexpr bool kSubnormalInSingle = false;
  static constexpr float kSmallestNormal = 0x1p-14F;
};

struct BF16 {
  static Elements load(const std::uint32_t* source) {
    const __m256i lanes = _mm256_load_si256(reinterpret_cast<const __m256i*>(source));
    return {{_mm256_castsi256_ps(_mm256_slli_epi32(lanes, 16)),
             _mm256_castsi256_ps(
                 _mm256_and_si256(lanes, _mm256_set1_epi32(static_cast<int>(0xffff0000U))))}};
  }
  static __m256i round(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    return _mm256_blendv_epi8(up, _mm256_set1_epi32(static_cast<int>(kNan32)), nan_mask(v));
  }
  static __m256i store(const Elements& e) {
    return _mm256_blend_epi16(_mm256_srli_epi32(round(e.part[0]), 16), round(e.part[1]), 0xaa);
  }
  /// bf16 is the upper half of f32, subnormals included: its midpoints are those bit patterns.
  static int suspicious(__m256 v) {
    return _mm256_movemask_ps(_mm256_castsi256_ps(
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0xffff)),
                           _mm256_set1_epi32(0x8000))));
  }
  /// Results may be subnormal in f32 as well, where even a product is rounded.
  static constexpr bool kSubnormalInSingle = true;
  static constexpr float kSmallestNormal = 0x1p-126F;
};

/// The conversions of single halves that kernels write most, eight lanes at a time.
struct FromF16 {
  static __m256i apply(__m256i lanes) {
    const __m256i bits = _mm256_and_si256(lanes, _mm256_set1_epi32(0xffff));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(bits, bits), 0x08);
    const __m256 v = _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
    return _mm256_blendv_epi8(_mm256_castps_si256(v), _mm256_set1_epi32(static_cast<int>(kNan32)),
                              nan_mask(v));
  }
};
struct ToF16 {
  static __m256i apply(__m256i lanes) {
    const __m256 v = _mm256_castsi256_ps(lanes);
    const __m256i number =
        _mm256_blendv_epi8(lanes, _mm256_set1_epi32(static_cast<int>(kNan32)), nan_mask(v));
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(_mm256_castsi256_ps(number),
                                                 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};
struct ToBF16 {
  static __m256i apply(__m256i lanes) {
    return _mm256_srli_epi32(BF16::round(_mm256_castsi256_ps(lanes)), 16);
  }
};

template <bool Masked, class Function>
void convert_halves(Context& x, const Op& op) {
  const auto* a = reinterpret_cast<const __m256i*>(x.lanes32(op.a));
  const auto* mask = reinterpret_cast<const __m256i*>(x.lane_mask.data());
  auto* d = reinterpret_cast<__m256i*>(x.lanes32(op.d));
  for (int i = 0; i < kLanes / kVector; ++i) {
    __m256i value = Function::apply(_mm256_load_si256(a + i));
    if constexpr (Masked) {
      value = _mm256_blendv_epi8(_mm256_load_si256(d + i), value, _mm256_load_si256(mask + i));
    }
    _mm256_store_si256(d + i, value);
  }
}

/// cvt.rn.f16x2.f32 and cvt.rn.bf16x2.f32 are what epilogues are made of: eight lanes at a time.
template <bool Masked, bool BFloat>
void pack_pair(Context& x, const Op& op) {
  const std::uint32_t* a = x.lanes32(op.a);
  const std::uint32_t* b = x.lanes32(op.b);
  std::uint32_t* d = x.lanes32(op.d);
  const __m256i nan = _mm256_set1_epi32(static_cast<int>(kNan32));
  const auto load = [&](const std::uint32_t* p) {
    const __m256i bits = _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
    const __m256 v = _mm256_castsi256_ps(bits);
    return _mm256_blendv_epi8(bits, nan, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
  };
  for (int lane = 0; lane < kLanes; lane += 8) {
    const __m256i high = load(a + lane);
    const __m256i low = load(b + lane);
    __m256i packed;
    if constexpr (BFloat) {
      packed = _mm256_blend_epi16(_mm256_srli_epi32(BF16::round(_mm256_castsi256_ps(low)), 16),
                                  BF16::round(_mm256_castsi256_ps(high)), 0xaa);
    } else {
      constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
      const __m128i h = _mm256_cvtps_ph(_mm256_castsi256_ps(high), kNearest);
      const __m128i l = _mm256_cvtps_ph(_mm256_castsi256_ps(low), kNearest);
      packed = _mm256_set_m128i(_mm_unpackhi_epi16(l, h), _mm_unpacklo_epi16(l, h));
    }
    auto* out = reinterpret_cast<__m256i*>(d + lane);
    if constexpr (Masked) {
      packed = _mm256_blendv_epi8(
          _mm256_load_si256(out), packed,
          _mm256_load_si256(reinterpret_cast<const __m256i*>(x.lane_mask.data() + lane)));
    }
    _mm256_store_si256(out, packed);
  }
}

}  // namespace bitgate::machine
