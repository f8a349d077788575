#include "reference/numeric/half.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/vector_half.h"

// f16, bf16 and their packed pairs (PTX ISA 9.7.4), one rounding each. The arithmetic is done in
// f32, whose 24 bits make the second rounding harmless for sums and products of f16 (Figueroa,
// "When is double rounding innocuous?", 1995). Where that does not reach, a second rounding can
// only err if the f32 result is exactly a midpoint of the narrow format, or below its normal
// numbers; such lanes are done again from the exact result.

namespace bitgate::machine {

namespace {

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

/// What a mnemonic says besides its operation, in Op::immediate.
enum Modifiers : unsigned {
  kFlushes = 1,      ///< .ftz: subnormals to zeros, in operands and result
  kPacked = 2,       ///< x2
  kSaturates = 4,    ///< .sat: to [0, 1], NaN to +0
  kRelu = 8,         ///< negative results are +0, NaN stays
  kPropagates = 16,  ///< .NaN: a NaN operand makes min and max NaN
  kXorSign = 32,     ///< .xorsign.abs: of the magnitudes, with the signs' product
  kOutOfBounds = 64  ///< .oob: +0 where a or b is the NaN that marks elements out of bounds
};

struct Add {
  static constexpr int kSources = 2;
  template <class Format>
  static __m256 apply(__m256 a, __m256 b, __m256, unsigned) {
    return _mm256_add_ps(a, b);
  }
};
struct Sub {
  static constexpr int kSources = 2;
  template <class Format>
  static __m256 apply(__m256 a, __m256 b, __m256, unsigned) {
    return _mm256_sub_ps(a, b);
  }
};
struct Mul {
  static constexpr int kSources = 2;
  template <class Format>
  static __m256 apply(__m256 a, __m256 b, __m256, unsigned) {
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
  static __m256 apply(__m256 a, __m256 b, __m256 c, unsigned) {
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

template <bool Maximum>
struct Extreme {
  static constexpr int kSources = 2;
  static __m256i ordered(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v);
    return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
  }
  template <class Format>
  static __m256 apply(__m256 a, __m256 b, __m256, unsigned modifiers) {
    const __m256 sign_bit = _mm256_set1_ps(-0.0F);
    __m256 sign = _mm256_setzero_ps();
    if ((modifiers & kXorSign) != 0) {
      sign = _mm256_and_ps(_mm256_xor_ps(a, b), sign_bit);
      a = _mm256_andnot_ps(sign_bit, a);
      b = _mm256_andnot_ps(sign_bit, b);
    }
    const __m256i a_above = _mm256_cmpgt_epi32(ordered(a), ordered(b));
    __m256 r = Maximum ? _mm256_blendv_ps(b, a, _mm256_castsi256_ps(a_above))
                       : _mm256_blendv_ps(a, b, _mm256_castsi256_ps(a_above));
    const __m256 a_nan = _mm256_castsi256_ps(nan_mask(a));
    const __m256 b_nan = _mm256_castsi256_ps(nan_mask(b));
    const bool propagates = (modifiers & kPropagates) != 0;
    r = _mm256_blendv_ps(r, propagates ? a : b, a_nan);
    r = _mm256_blendv_ps(r, propagates ? b : a, b_nan);
    return _mm256_or_ps(r, sign);
  }
};
struct Neg {
  static constexpr int kSources = 1;
  template <class Format>
  static __m256 apply(__m256 a, __m256, __m256, unsigned) {
    return _mm256_xor_ps(a, _mm256_set1_ps(-0.0F));
  }
};
struct Abs {
  static constexpr int kSources = 1;
  template <class Format>
  static __m256 apply(__m256 a, __m256, __m256, unsigned) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a);
  }
};

__m256 clamp(__m256 v, unsigned modifiers) {
  // max(v, 0) returns its second operand for a NaN and for −0.
  const __m256 positive = _mm256_max_ps(v, _mm256_setzero_ps());
  if ((modifiers & kSaturates) != 0) return _mm256_min_ps(positive, _mm256_set1_ps(1.0F));
  if ((modifiers & kRelu) == 0) return v;
  return _mm256_blendv_ps(positive, v, _mm256_castsi256_ps(nan_mask(v)));
}

/// PTX does not say which NaN marks an element out of bounds. On an H200 it is 0x7ff7 of either
/// sign, in f16 and in bf16 (all 65,536 patterns of both tried).
__m256i without_marked(__m256i results, const std::uint32_t* a, const std::uint32_t* b) {
  const auto marked = [](const std::uint32_t* source) {
    const __m256i bits = _mm256_load_si256(reinterpret_cast<const __m256i*>(source));
    return _mm256_cmpeq_epi16(_mm256_and_si256(bits, _mm256_set1_epi16(0x7fff)),
                              _mm256_set1_epi16(0x7ff7));
  };
  return _mm256_andnot_si256(_mm256_or_si256(marked(a), marked(b)), results);
}

template <bool Masked, class Format, class Operation>
void half_lanes(Context& x, const Op& op) {
  const auto modifiers = static_cast<unsigned>(op.immediate);
  const bool flushes = (modifiers & kFlushes) != 0;
  const __m256i kept = _mm256_set1_epi32((modifiers & kPacked) != 0 ? -1 : 0xffff);
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
        if (flushes) v[s] = flush_below(v[s], Format::kSmallestNormal);
      }
      __m256 r = Operation::template apply<Format>(v[0], v[1], v[2], modifiers);
      // Tiny is what stays below the normal numbers when it is rounded to 11 bits, whatever its
      // exponent: 0400·3bff is, 0401·3bfe is not (an H200's vectors of mul.ftz.f16).
      if (flushes) r = flush_below(r, Format::kSmallestNormal * (1.0F - 0x1p-12F));
      result.part[i] = clamp(r, modifiers);
    }
    __m256i bits = Format::store(result);
    if ((modifiers & kOutOfBounds) != 0) {
      bits = without_marked(bits, sources[0] + first, sources[1] + first);
    }
    bits = _mm256_and_si256(bits, kept);
    auto* out = reinterpret_cast<__m256i*>(d + first);
    if constexpr (Masked) {
      const __m256i mask =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(x.lane_mask.data() + first));
      bits = _mm256_blendv_epi8(_mm256_load_si256(out), bits, mask);
    }
    _mm256_store_si256(out, bits);
  }
}

/// One element and two.
template <class Format, class Operation>
[[gnu::cold]] void half_rows(DecodeTable& table, const std::string& prefix, unsigned modifiers) {
  DecodeTable::Row row;
  row.operands.assign(Operation::kSources + 1, Kind::b32);
  row.mnemonic = prefix + (std::is_same_v<Format, F16> ? ".f16" : ".bf16");
  row.full = &half_lanes<false, Format, Operation>;
  row.masked = &half_lanes<true, Format, Operation>;
  row.immediate = modifiers;
  table.add(row);
  row.mnemonic += "x2";
  row.immediate = modifiers | kPacked;
  table.add(row);
}

template <class Operation>
[[gnu::cold]] void arithmetic_rows(DecodeTable& table, const std::string& opcode) {
  for (const char* rounding : {"", ".rn"}) {
    const std::string prefix = opcode + rounding;
    half_rows<F16, Operation>(table, prefix, 0);
    half_rows<F16, Operation>(table, prefix + ".ftz", kFlushes);
    half_rows<F16, Operation>(table, prefix + ".sat", kSaturates);
    half_rows<F16, Operation>(table, prefix + ".ftz.sat", kFlushes | kSaturates);
    half_rows<BF16, Operation>(table, prefix, 0);
  }
}

[[gnu::cold]] void fma_rows(DecodeTable& table) {
  half_rows<F16, Fma>(table, "fma.rn", 0);
  half_rows<F16, Fma>(table, "fma.rn.ftz", kFlushes);
  half_rows<F16, Fma>(table, "fma.rn.sat", kSaturates);
  half_rows<F16, Fma>(table, "fma.rn.ftz.sat", kFlushes | kSaturates);
  half_rows<F16, Fma>(table, "fma.rn.relu", kRelu);
  half_rows<F16, Fma>(table, "fma.rn.ftz.relu", kFlushes | kRelu);
  half_rows<BF16, Fma>(table, "fma.rn", 0);
  half_rows<BF16, Fma>(table, "fma.rn.relu", kRelu);
  half_rows<F16, Fma>(table, "fma.rn.oob", kOutOfBounds);
  half_rows<F16, Fma>(table, "fma.rn.oob.relu", kOutOfBounds | kRelu);
  half_rows<BF16, Fma>(table, "fma.rn.oob", kOutOfBounds);
  half_rows<BF16, Fma>(table, "fma.rn.oob.relu", kOutOfBounds | kRelu);
}

template <class Operation>
[[gnu::cold]] void sign_rows(DecodeTable& table, const std::string& opcode) {
  half_rows<F16, Operation>(table, opcode, 0);
  half_rows<F16, Operation>(table, opcode + ".ftz", kFlushes);
  half_rows<BF16, Operation>(table, opcode, 0);
}

template <class Operation>
[[gnu::cold]] void extreme_rows(DecodeTable& table, const std::string& opcode) {
  struct Form {
    const char* text;
    unsigned modifiers;
  };
  for (const Form& form : {Form{"", 0}, Form{".NaN", kPropagates}, Form{".xorsign.abs", kXorSign},
                           Form{".NaN.xorsign.abs", kPropagates | kXorSign}}) {
    half_rows<F16, Operation>(table, opcode + form.text, form.modifiers);
    half_rows<F16, Operation>(table, opcode + ".ftz" + form.text, form.modifiers | kFlushes);
    half_rows<BF16, Operation>(table, opcode + form.text, form.modifiers);
  }
}

}  // namespace

[[gnu::cold]] void add_half_rows(DecodeTable& table) {
  arithmetic_rows<Add>(table, "add");
  arithmetic_rows<Sub>(table, "sub");
  arithmetic_rows<Mul>(table, "mul");
  fma_rows(table);
  sign_rows<Neg>(table, "neg");
  sign_rows<Abs>(table, "abs");
  extreme_rows<Extreme<false>>(table, "min");
  extreme_rows<Extreme<true>>(table, "max");
}

}  // namespace bitgate::machine
