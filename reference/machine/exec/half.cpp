#include "reference/numeric/half.h"

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/nan.h"

// f16, bf16 and their packed pairs (PTX ISA 9.7.4), one rounding each. The arithmetic is done in
// f32, whose 24 bits make the second rounding harmless for sums and products of f16 (Figueroa,
// "When is double rounding innocuous?", 1995). Where that does not reach, a second rounding can
// only err if the f32 result is exactly a midpoint of the narrow format, or below its normal
// numbers; such lanes are done again from the exact result.

namespace bitgate::machine {

namespace {

constexpr int kVector = 8;  // lanes of one AVX2 register

/// The elements of 8 lanes as two vectors of floats, in an order that load and store agree on.
struct Elements {
  __m256 part[2];
};

__m256i nan_mask(__m256 v) { return _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)); }

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

__m256 flush_below(__m256 v, float smallest_normal) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  const __m256 tiny =
      _mm256_cmp_ps(_mm256_andnot_ps(sign, v), _mm256_set1_ps(smallest_normal), _CMP_LT_OQ);
  return _mm256_blendv_ps(v, _mm256_and_ps(v, sign), tiny);
}

/// A sum in f64 rounded to odd: any later rounding to at most 51 bits is then the only one (Boldo,
/// Melquiond, "Emulation of a FMA and correctly rounded sums", 2008). `product` is exact.
double sum_to_odd(double product, double addend) {
  const double sum = product + addend;
  if (!std::isfinite(sum)) return sum;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (addend - back);
  if (error == 0.0) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((bits & 1U) == 0) bits += (error > 0.0) == (sum > 0.0) ? 1U : ~std::uint64_t{0};
  return std::bit_cast<double>(bits);
}

/// Lanes in `doubtful` again for bf16, from the exact result; what they hold then is rounded.
__m256 redo_bf16(int doubtful, __m256 fast, __m256 a, __m256 b, __m256 c) {
  alignas(32) float va[kVector];
  alignas(32) float vb[kVector];
  alignas(32) float vc[kVector];
  alignas(32) float result[kVector];
  _mm256_store_ps(va, a);
  _mm256_store_ps(vb, b);
  _mm256_store_ps(vc, c);
  _mm256_store_ps(result, fast);
  each_lane(static_cast<std::uint32_t>(doubtful), [&](std::size_t lane) {
    const double product = static_cast<double>(va[lane]) * static_cast<double>(vb[lane]);
    result[lane] =
        numeric::to_float(numeric::to_bfloat16(sum_to_odd(product, static_cast<double>(vc[lane]))));
  });
  return _mm256_load_ps(result);
}

/// a·b + c in f64 rounded to odd in f32's precision, so that rounding it once more is rounding the
/// exact result. Right where the result is normal in f32.
__m256 fma_to_odd(__m256 a, __m256 b, __m256 c) {
  __m128 result[2];
  for (int i = 0; i < 2; ++i) {
    const auto part = [i](__m256 v) {
      return _mm256_cvtps_pd(i == 0 ? _mm256_castps256_ps128(v) : _mm256_extractf128_ps(v, 1));
    };
    const __m256d product = _mm256_mul_pd(part(a), part(b));
    const __m256d addend = part(c);
    const __m256d sum = _mm256_add_pd(product, addend);
    const __m256d back = _mm256_sub_pd(sum, product);
    const __m256d error = _mm256_add_pd(_mm256_sub_pd(product, _mm256_sub_pd(sum, back)),
                                        _mm256_sub_pd(addend, back));
    // With an infinity or a NaN the error is NaN, and nothing is done.
    const __m256i inexact =
        _mm256_castpd_si256(_mm256_cmp_pd(error, _mm256_setzero_pd(), _CMP_NEQ_OQ));
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256i bits = _mm256_castpd_si256(sum);
    const __m256i even = _mm256_cmpeq_epi64(_mm256_and_si256(bits, one), _mm256_setzero_si256());
    const __m256i toward_zero = _mm256_cmpgt_epi64(
        _mm256_setzero_si256(), _mm256_xor_si256(bits, _mm256_castpd_si256(error)));
    const __m256i step =
        _mm256_and_si256(_mm256_or_si256(toward_zero, one), _mm256_and_si256(inexact, even));
    const __m256i odd = _mm256_add_epi64(bits, step);
    // f32 has 29 bits fewer.
    const __m256i below = _mm256_set1_epi64x((std::int64_t{1} << 29) - 1);
    const __m256i exact = _mm256_cmpeq_epi64(_mm256_and_si256(odd, below), _mm256_setzero_si256());
    const __m256i sticky = _mm256_andnot_si256(exact, _mm256_set1_epi64x(std::int64_t{1} << 29));
    const __m256i kept = _mm256_or_si256(_mm256_andnot_si256(below, odd), sticky);
    result[i] = _mm256_cvtpd_ps(_mm256_castsi256_pd(kept));
  }
  return _mm256_set_m128(result[1], result[0]);
}

struct Add {
  static constexpr int kSources = 2;
  template <class Format>
  static __m256 apply(__m256 a, __m256 b, __m256) {
    return _mm256_add_ps(a, b);
  }
};
struct Sub {
  static constexpr int kSources = 2;
  template <class Format>
  static __m256 apply(__m256 a, __m256 b, __m256) {
    return _mm256_sub_ps(a, b);
  }
};
struct Mul {
  static constexpr int kSources = 2;
  template <class Format>
  static __m256 apply(__m256 a, __m256 b, __m256) {
    const __m256 fast = _mm256_mul_ps(a, b);
    if constexpr (Format::kSubnormalInSingle) {
      const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), fast);
      const int small = _mm256_movemask_ps(
          _mm256_cmp_ps(magnitude, _mm256_set1_ps(Format::kSmallestNormal), _CMP_LT_OQ));
      const int doubtful = small & Format::suspicious(fast);
      // A signed zero as addend keeps the sign of a product that underflows.
      if (doubtful != 0) return redo_bf16(doubtful, fast, a, b, _mm256_setzero_ps());
    }
    return fast;
  }
};
struct Fma {
  static constexpr int kSources = 3;
  template <class Format>
  static __m256 apply(__m256 a, __m256 b, __m256 c) {
    const __m256 fast = _mm256_fmadd_ps(a, b, c);
    const int doubtful = Format::suspicious(fast);
    if (doubtful == 0) return fast;
    if constexpr (Format::kSubnormalInSingle) {
      const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), fast);
      const int tiny =
          _mm256_movemask_ps(_mm256_cmp_ps(magnitude, _mm256_set1_ps(0x1p-120F), _CMP_LT_OQ));
      if ((doubtful & tiny) != 0) return redo_bf16(doubtful, fast, a, b, c);
    }
    // Midpoints are common where few bits meet, as in scaled four-bit weights.
    return fma_to_odd(a, b, c);
  }
};

template <bool Maximum, bool PropagateNan>
struct Extreme {
  static constexpr int kSources = 2;
  static __m256i ordered(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v);
    return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
  }
  template <class Format>
  static __m256 apply(__m256 a, __m256 b, __m256) {
    const __m256i a_above = _mm256_cmpgt_epi32(ordered(a), ordered(b));
    __m256 r = Maximum ? _mm256_blendv_ps(b, a, _mm256_castsi256_ps(a_above))
                       : _mm256_blendv_ps(a, b, _mm256_castsi256_ps(a_above));
    const __m256 a_nan = _mm256_castsi256_ps(nan_mask(a));
    const __m256 b_nan = _mm256_castsi256_ps(nan_mask(b));
    r = _mm256_blendv_ps(r, PropagateNan ? a : b, a_nan);
    return _mm256_blendv_ps(r, PropagateNan ? b : a, b_nan);
  }
};
struct Neg {
  static constexpr int kSources = 1;
  template <class Format>
  static __m256 apply(__m256 a, __m256, __m256) {
    return _mm256_xor_ps(a, _mm256_set1_ps(-0.0F));
  }
};
struct Abs {
  static constexpr int kSources = 1;
  template <class Format>
  static __m256 apply(__m256 a, __m256, __m256) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a);
  }
};

enum class Clamp : std::uint8_t { none, sat, relu };

template <Clamp C>
__m256 clamp(__m256 v) {
  if constexpr (C == Clamp::none) return v;
  const __m256 zero = _mm256_setzero_ps();
  // max(v, 0) returns its second operand for a NaN and for −0.
  if constexpr (C == Clamp::sat) return _mm256_min_ps(_mm256_max_ps(v, zero), _mm256_set1_ps(1.0F));
  return _mm256_blendv_ps(_mm256_max_ps(v, zero), v, _mm256_castsi256_ps(nan_mask(v)));
}

template <bool Masked, class Format, class Operation, bool Flush, Clamp C, bool Packed>
void half_lanes(Context& x, const Op& op) {
  const std::uint32_t* sources[3] = {x.lanes32(op.a), x.lanes32(op.b), x.lanes32(op.c)};
  std::uint32_t* d = x.lanes32(op.d);
  for (int first = 0; first < kLanes; first += kVector) {
    Elements in[3];
    for (int s = 0; s < Operation::kSources; ++s) {
      in[s] = Format::load(sources[s] + first);
    }
    Elements result;
    for (int i = 0; i < 2; ++i) {
      __m256 v[3];
      for (int s = 0; s < 3; ++s) {
        v[s] = s < Operation::kSources ? in[s].part[i] : _mm256_setzero_ps();
        if constexpr (Flush) v[s] = flush_below(v[s], Format::kSmallestNormal);
      }
      result.part[i] = clamp<C>(Operation::template apply<Format>(v[0], v[1], v[2]));
    }
    __m256i bits = Format::store(result);
    if constexpr (Flush) {
      alignas(32) std::uint32_t lanes[kVector];
      _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), bits);
      Elements rounded = Format::load(lanes);
      for (__m256& part : rounded.part) part = flush_below(part, Format::kSmallestNormal);
      bits = Format::store(rounded);
    }
    if constexpr (!Packed) bits = _mm256_and_si256(bits, _mm256_set1_epi32(0xffff));
    auto* out = reinterpret_cast<__m256i*>(d + first);
    if constexpr (Masked) {
      const __m256i mask =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(x.lane_mask.data() + first));
      bits = _mm256_blendv_epi8(_mm256_load_si256(out), bits, mask);
    }
    _mm256_store_si256(out, bits);
  }
}

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

template <bool Masked, class Conversion>
void convert_lanes(Context& x, const Op& op) {
  const auto* a = reinterpret_cast<const __m256i*>(x.lanes32(op.a));
  const auto* mask = reinterpret_cast<const __m256i*>(x.lane_mask.data());
  auto* d = reinterpret_cast<__m256i*>(x.lanes32(op.d));
  for (int i = 0; i < kLanes / kVector; ++i) {
    __m256i value = Conversion::apply(_mm256_load_si256(a + i));
    if constexpr (Masked) {
      value = _mm256_blendv_epi8(_mm256_load_si256(d + i), value, _mm256_load_si256(mask + i));
    }
    _mm256_store_si256(d + i, value);
  }
}

template <class Conversion>
[[gnu::cold]] void conversion_row(DecodeTable& table, const std::string& mnemonic) {
  DecodeTable::Row row;
  row.mnemonic = mnemonic;
  row.operands = {Kind::b32, Kind::b32};
  row.type = mnemonic.ends_with(".f32") ? "f32" : "";
  row.full = &convert_lanes<false, Conversion>;
  row.masked = &convert_lanes<true, Conversion>;
  table.add(row);
}

template <class Format, class Operation, bool Flush, Clamp C>
[[gnu::cold]] void half_row(DecodeTable& table, const std::string& prefix,
                            const std::string& type) {
  DecodeTable::Row row;
  row.operands.assign(Operation::kSources + 1, Kind::b32);
  row.mnemonic = prefix + "." + type;
  row.full = &half_lanes<false, Format, Operation, Flush, C, false>;
  row.masked = &half_lanes<true, Format, Operation, Flush, C, false>;
  table.add(row);
  row.mnemonic += "x2";
  row.full = &half_lanes<false, Format, Operation, Flush, C, true>;
  row.masked = &half_lanes<true, Format, Operation, Flush, C, true>;
  table.add(row);
}

template <class Operation>
[[gnu::cold]] void arithmetic_rows(DecodeTable& table, const std::string& opcode, bool unmarked) {
  for (const char* rounding : {"", ".rn"}) {
    if (*rounding == '\0' && !unmarked) continue;
    const std::string prefix = opcode + rounding;
    half_row<F16, Operation, false, Clamp::none>(table, prefix, "f16");
    half_row<F16, Operation, true, Clamp::none>(table, prefix + ".ftz", "f16");
    half_row<F16, Operation, false, Clamp::sat>(table, prefix + ".sat", "f16");
    half_row<F16, Operation, true, Clamp::sat>(table, prefix + ".ftz.sat", "f16");
    half_row<BF16, Operation, false, Clamp::none>(table, prefix, "bf16");
  }
}

template <class Operation>
[[gnu::cold]] void sign_rows(DecodeTable& table, const std::string& opcode) {
  half_row<F16, Operation, false, Clamp::none>(table, opcode, "f16");
  half_row<F16, Operation, true, Clamp::none>(table, opcode + ".ftz", "f16");
  half_row<BF16, Operation, false, Clamp::none>(table, opcode, "bf16");
}

}  // namespace

[[gnu::cold]] void add_half_rows(DecodeTable& table) {
  conversion_row<FromF16>(table, "cvt.f32.f16");
  conversion_row<ToF16>(table, "cvt.rn.f16.f32");
  conversion_row<ToBF16>(table, "cvt.rn.bf16.f32");
  arithmetic_rows<Add>(table, "add", true);
  arithmetic_rows<Sub>(table, "sub", true);
  arithmetic_rows<Mul>(table, "mul", true);
  arithmetic_rows<Fma>(table, "fma", false);
  half_row<F16, Fma, false, Clamp::relu>(table, "fma.rn.relu", "f16");
  half_row<F16, Fma, true, Clamp::relu>(table, "fma.rn.ftz.relu", "f16");
  half_row<BF16, Fma, false, Clamp::relu>(table, "fma.rn.relu", "bf16");
  sign_rows<Neg>(table, "neg");
  sign_rows<Abs>(table, "abs");
  sign_rows<Extreme<false, false>>(table, "min");
  sign_rows<Extreme<true, false>>(table, "max");
  sign_rows<Extreme<false, true>>(table, "min.NaN");
  sign_rows<Extreme<true, true>>(table, "max.NaN");
  half_row<F16, Extreme<false, true>, true, Clamp::none>(table, "min.ftz.NaN", "f16");
  half_row<F16, Extreme<true, true>, true, Clamp::none>(table, "max.ftz.NaN", "f16");
}

}  // namespace bitgate::machine
