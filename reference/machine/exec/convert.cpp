#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/exec/rounding.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"

// cvt (PTX ISA 9.7.9): integers among themselves, integers and floats, floats among themselves.

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

// Integer to integer. Registers wider than the type take the extended result.

// std::cmp_* refuse character types, which 8-bit integers are.
template <class T>
using Comparable =
    std::conditional_t<sizeof(T) == 1,
                       std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>, T>;

template <class To, class From>
constexpr To saturate_integer(From v) {
  const auto low = static_cast<Comparable<To>>(std::numeric_limits<To>::min());
  const auto high = static_cast<Comparable<To>>(std::numeric_limits<To>::max());
  const auto value = static_cast<Comparable<From>>(v);
  if (std::cmp_greater(value, high)) return std::numeric_limits<To>::max();
  if (std::cmp_less(value, low)) return std::numeric_limits<To>::min();
  return static_cast<To>(v);
}

/// Results narrower than a register are sign- or zero-extended; the narrowest register has 16 bits.
template <class T>
using Register =
    std::conditional_t<sizeof(T) == 1,
                       std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>, T>;

template <class To, class From>
[[gnu::cold]] void integer_row(DecodeTable& table) {
  const std::string types = std::string(ptx_type<To>()) + "." + ptx_type<From>();
  using Result = Register<To>;
  static constexpr auto kConvert = [](From v) -> Result {
    return static_cast<Result>(static_cast<To>(v));
  };
  // Bytes are converted rarely; what compilers write for addresses and indices is vectorised.
  if constexpr (sizeof(To) == 1 || sizeof(From) == 1) {
    table.add(scalar_lanes<kConvert>("cvt." + types));
  } else {
    table.add(lanes<kConvert>("cvt." + types));
  }
  table.add(scalar_lanes<[](From v) -> Result {
    return static_cast<Result>(saturate_integer<To, From>(v));
  }>("cvt.sat." + types));
}

template <class To>
[[gnu::cold]] void integer_rows_to(DecodeTable& table) {
  integer_row<To, std::uint8_t>(table);
  integer_row<To, std::int8_t>(table);
  integer_row<To, std::uint16_t>(table);
  integer_row<To, std::int16_t>(table);
  integer_row<To, U32>(table);
  integer_row<To, std::int32_t>(table);
  integer_row<To, U64>(table);
  integer_row<To, std::int64_t>(table);
}

// Float to integer: round, then clamp; NaN by the rules of h200-bits.

template <Rounding R, class F>
F round_integral(F v) {
  switch (R) {
    case Rounding::rn:
      return std::nearbyint(v);  // the CPU rounds to nearest even
    case Rounding::rz:
      return std::trunc(v);
    case Rounding::rm:
      return std::floor(v);
    case Rounding::rp:
      return std::ceil(v);
  }
  return v;
}

template <class To, class From>
constexpr To integer_of_nan() {
  if constexpr (sizeof(To) == 8) {
    return static_cast<To>(0x8000000000000000ULL);
  } else if constexpr (std::is_same_v<From, double>) {
    return static_cast<To>(std::make_unsigned_t<To>{1} << (sizeof(To) * 8 - 1));
  } else {
    return 0;
  }
}

template <class To, Rounding R, class From>
To convert_to_integer(From v) {
  if (is_nan(v)) return integer_of_nan<To, From>();
  const From r = round_integral<R>(v);
  // 2^n is exact in every float; the bounds compare before the cast, which is defined inside them.
  const From top = static_cast<From>(std::ldexp(1.0, std::numeric_limits<To>::digits));
  if (r >= top) return std::numeric_limits<To>::max();
  if (r <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(r);
}

template <class To, Rounding R>
[[gnu::cold]] void float_to_integer_row(DecodeTable& table) {
  const std::string to = ptx_type<To>();
  // .rni, .rzi, .rmi, .rpi; saturation is implied.
  const std::string rounding = std::string(name(R)) + "i.";
  using Result = Register<To>;
  for (const char* sat : {"", "sat."}) {
    table.add(scalar_lanes<[](float v) -> Result {
      return static_cast<Result>(convert_to_integer<To, R>(v));
    }>("cvt." + rounding + sat + to + ".f32"));
    table.add(scalar_lanes<[](float v) -> Result {
      return static_cast<Result>(convert_to_integer<To, R>(flush(v)));
    }>("cvt." + rounding + "ftz." + sat + to + ".f32"));
    table.add(scalar_lanes<[](double v) -> Result {
      return static_cast<Result>(convert_to_integer<To, R>(v));
    }>("cvt." + rounding + sat + to + ".f64"));
    table.add(scalar_lanes<[](std::uint16_t v) -> Result {
      return static_cast<Result>(convert_to_integer<To, R>(numeric::to_float(numeric::Half{v})));
    }>("cvt." + rounding + sat + to + ".f16"));
    table.add(scalar_lanes<[](std::uint16_t v) -> Result {
      return static_cast<Result>(
          convert_to_integer<To, R>(numeric::to_float(numeric::BFloat16{v})));
    }>("cvt." + rounding + sat + to + ".bf16"));
  }
}

template <class To>
[[gnu::cold]] void float_to_integer_rows(DecodeTable& table) {
  float_to_integer_row<To, Rounding::rn>(table);
  float_to_integer_row<To, Rounding::rz>(table);
  float_to_integer_row<To, Rounding::rm>(table);
  float_to_integer_row<To, Rounding::rp>(table);
}

// Integer to float. The C conversion rounds by the CPU's mode, which RoundingScope sets.

template <Rounding R, auto F>
void rounded(Context& x, const Op& op) {
  const RoundingScope scope(R);
  ScalarSignature<decltype(&decltype(F)::operator())>::template apply<F>(x, op);
}

template <auto F, Rounding R>
DecodeTable::Row rounded_row(const std::string& mnemonic) {
  if constexpr (R == Rounding::rn) return lanes<F>(mnemonic);
  DecodeTable::Row row = SignatureOf<F>::row(mnemonic);
  row.full = &rounded<R, F>;
  row.masked = row.full;
  return row;
}

/// An f64 that rounds to at most 51 bits as the 64-bit integer itself would: the lowest bit says
/// whether anything was lost.
template <class From>
double integer_to_odd(From v) {
  using Un = std::make_unsigned_t<From>;
  const bool negative = std::is_signed_v<From> && v < From{0};
  auto magnitude =
      static_cast<U64>(negative ? static_cast<Un>(Un{0} - static_cast<Un>(v)) : static_cast<Un>(v));
  if constexpr (sizeof(From) == 8) {
    const int excess = 11 - std::countl_zero(magnitude);
    if (excess > 0) {
      const U64 lost = magnitude & ((U64{1} << excess) - 1);
      magnitude = (magnitude & ~((U64{1} << excess) - 1)) | (lost != 0 ? U64{1} << excess : 0);
    }
  }
  const auto value = static_cast<double>(magnitude);
  return negative ? -value : value;
}

template <class From, Rounding R>
[[gnu::cold]] void integer_to_float_row(DecodeTable& table) {
  const std::string prefix = std::string("cvt.") + name(R);
  const std::string from = std::string(".") + ptx_type<From>();
  table.add(rounded_row<[](From v) -> float { return static_cast<float>(v); }, R>(prefix + ".f32" +
                                                                                  from));
  table.add(rounded_row<[](From v) -> double { return static_cast<double>(v); }, R>(prefix +
                                                                                    ".f64" + from));
  // Into [0, 1]: what is not positive is +0, what is positive is at least 1.
  table.add(scalar_lanes<[](From v) -> float { return From{0} < v ? 1.0F : 0.0F; }>(
      prefix + ".sat.f32" + from));
  table.add(scalar_lanes<[](From v) -> double { return From{0} < v ? 1.0 : 0.0; }>(
      prefix + ".sat.f64" + from));
  if constexpr (R == Rounding::rn) {
    table.add(scalar_lanes<[](From v) -> std::uint16_t {
      return numeric::to_half(integer_to_odd(v)).bits;
    }>(prefix + ".f16" + from));
    table.add(scalar_lanes<[](From v) -> std::uint16_t {
      return numeric::to_bfloat16(integer_to_odd(v)).bits;
    }>(prefix + ".bf16" + from));
  }
}

template <class From>
[[gnu::cold]] void integer_to_float_rows(DecodeTable& table) {
  integer_to_float_row<From, Rounding::rn>(table);
  integer_to_float_row<From, Rounding::rz>(table);
  integer_to_float_row<From, Rounding::rm>(table);
  integer_to_float_row<From, Rounding::rp>(table);
}

// Float to float.

template <class F>
constexpr F relu(F v) {
  return is_nan(v) ? v : (v > F{0} ? v : F{0});
}

/// Rounds an f32 to 16 bits by mode; `direction` follows the value's sign for rm and rp.
template <Rounding R>
std::uint16_t half_of(float v) {
  if (is_nan(v)) return kNan16;
  switch (R) {
    case Rounding::rn:
      return static_cast<std::uint16_t>(_cvtss_sh(v, 0));
    case Rounding::rm:
      return static_cast<std::uint16_t>(_cvtss_sh(v, 1));
    case Rounding::rp:
      return static_cast<std::uint16_t>(_cvtss_sh(v, 2));
    case Rounding::rz:
      return static_cast<std::uint16_t>(_cvtss_sh(v, 3));
  }
  return 0;
}

template <Rounding R>
constexpr std::uint16_t bfloat_of(float v) {
  if (is_nan(v)) return kNan16;
  auto bits = std::bit_cast<U32>(v);
  const U32 rest = bits & 0xffffU;
  const bool negative = (bits >> 31) != 0;
  bits >>= 16;
  // An infinity has no rest, so that a carry stops at it.
  switch (R) {
    case Rounding::rn:
      bits += rest > 0x8000U || (rest == 0x8000U && (bits & 1U) != 0) ? 1U : 0U;
      break;
    case Rounding::rm:
      bits += negative && rest != 0 ? 1U : 0U;
      break;
    case Rounding::rp:
      bits += !negative && rest != 0 ? 1U : 0U;
      break;
    case Rounding::rz:
      break;
  }
  return static_cast<std::uint16_t>(bits);
}

enum class Clamp : std::uint8_t { none, sat, relu };
template <Clamp C>
constexpr float clamp(float v) {
  if constexpr (C == Clamp::sat) return saturate(v);
  if constexpr (C == Clamp::relu) return relu(v);
  return v;
}

template <Rounding R, Clamp C>
[[gnu::cold]] void narrow_rows(DecodeTable& table, const std::string& modifiers) {
  const std::string prefix = std::string("cvt.") + name(R) + modifiers;
  table.add(scalar_lanes<[](float v) -> std::uint16_t { return half_of<R>(clamp<C>(v)); }>(
      prefix + ".f16.f32"));
  table.add(scalar_lanes<[](float v) -> std::uint16_t { return bfloat_of<R>(clamp<C>(v)); }>(
      prefix + ".bf16.f32"));
  table.add(scalar_lanes<[](float a, float b) -> U32 {
    return static_cast<U32>(half_of<R>(clamp<C>(a))) << 16 | half_of<R>(clamp<C>(b));
  }>(prefix + ".f16x2.f32"));
  table.add(scalar_lanes<[](float a, float b) -> U32 {
    return static_cast<U32>(bfloat_of<R>(clamp<C>(a))) << 16 | bfloat_of<R>(clamp<C>(b));
  }>(prefix + ".bf16x2.f32"));
}

/// cvt.rn.f16x2.f32 and cvt.rn.bf16x2.f32 are what epilogues are made of: eight lanes at a time.
template <bool Masked, bool BFloat>
void pack_pair(Context& x, const Op& op) {
  const U32* a = x.lanes32(op.a);
  const U32* b = x.lanes32(op.b);
  U32* d = x.lanes32(op.d);
  const __m256i nan = _mm256_set1_epi32(static_cast<int>(kNan32));
  const auto load = [&](const U32* p) {
    const __m256i bits = _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
    const __m256 v = _mm256_castsi256_ps(bits);
    return _mm256_blendv_epi8(bits, nan, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
  };
  for (int lane = 0; lane < kLanes; lane += 8) {
    const __m256i high = load(a + lane);
    const __m256i low = load(b + lane);
    __m256i packed;
    if constexpr (BFloat) {
      const auto round = [&](__m256i bits) {
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
        const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
        return _mm256_blendv_epi8(up, nan, _mm256_cmpeq_epi32(bits, nan));
      };
      packed = _mm256_blend_epi16(_mm256_srli_epi32(round(low), 16), round(high), 0xaa);
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

template <bool BFloat>
[[gnu::cold]] void pack_pair_row(DecodeTable& table, const std::string& mnemonic) {
  DecodeTable::Row row;
  row.mnemonic = mnemonic;
  row.operands.assign(3, Kind::b32);
  row.type = "f32";
  row.full = &pack_pair<false, BFloat>;
  row.masked = &pack_pair<true, BFloat>;
  table.add(row);
}

/// f32 and f64 keep a NaN's payload between each other, as x86 does.
template <Rounding R>
[[gnu::cold]] void double_to_single_row(DecodeTable& table) {
  const std::string prefix = std::string("cvt.") + name(R);
  table.add(
      rounded_row<[](double v) -> float { return static_cast<float>(v); }, R>(prefix + ".f32.f64"));
  table.add(rounded_row<[](double v) -> float { return flush(static_cast<float>(v)); }, R>(
      prefix + ".ftz.f32.f64"));
  table.add(rounded_row<[](double v) -> float { return saturate(static_cast<float>(v)); }, R>(
      prefix + ".sat.f32.f64"));
}

template <Rounding R>
[[gnu::cold]] void integral_rows(DecodeTable& table) {
  const std::string prefix = std::string("cvt.") + name(R) + "i";
  table.add(
      lanes<[](float v) -> float { return canonical(round_integral<R>(v)); }>(prefix + ".f32.f32"));
  table.add(lanes<[](float v) -> float { return canonical(round_integral<R>(flush(v))); }>(
      prefix + ".ftz.f32.f32"));
  table.add(lanes<[](float v) -> float { return saturate(round_integral<R>(v)); }>(prefix +
                                                                                   ".sat.f32.f32"));
  table.add(lanes<[](double v) -> double { return is_nan(v) ? quiet(v) : round_integral<R>(v); }>(
      prefix + ".f64.f64"));
  table.add(scalar_lanes<[](std::uint16_t v) -> std::uint16_t {
    return half_of<Rounding::rn>(round_integral<R>(numeric::to_float(numeric::Half{v})));
  }>(prefix + ".f16.f16"));
  table.add(scalar_lanes<[](std::uint16_t v) -> std::uint16_t {
    return bfloat_of<Rounding::rn>(round_integral<R>(numeric::to_float(numeric::BFloat16{v})));
  }>(prefix + ".bf16.bf16"));
}

/// f64 to 16 bits keeps the payload's top bits, unlike f32 to 16 bits.
constexpr std::uint16_t narrow_nan(double v, int fraction_bits) {
  const auto bits = std::bit_cast<U64>(v);
  const auto sign = static_cast<U32>(bits >> 63) << 15;
  const auto payload = static_cast<U32>(bits >> (52 - fraction_bits)) & ((1U << fraction_bits) - 1);
  const U32 exponent = (0x7fffU >> fraction_bits) << fraction_bits;
  return static_cast<std::uint16_t>(sign | exponent | 1U << (fraction_bits - 1) | payload);
}

double widen_keeping_nan(std::uint16_t v, bool bfloat) {
  const int fraction_bits = bfloat ? 7 : 10;
  const U32 exponent = (0x7fffU >> fraction_bits) << fraction_bits;
  if ((v & 0x7fffU) <= exponent) {
    return static_cast<double>(bfloat ? numeric::to_float(numeric::BFloat16{v})
                                      : numeric::to_float(numeric::Half{v}));
  }
  const U64 payload = static_cast<U64>(v & ((1U << fraction_bits) - 1)) << (52 - fraction_bits);
  const U64 sign = static_cast<U64>(v >> 15) << 63;
  return std::bit_cast<double>(sign | 0x7ff0000000000000ULL | kQuietBit64 | payload);
}

}  // namespace

[[gnu::cold]] void add_conversion_rows(DecodeTable& table) {
  integer_rows_to<std::uint8_t>(table);
  integer_rows_to<std::int8_t>(table);
  integer_rows_to<std::uint16_t>(table);
  integer_rows_to<std::int16_t>(table);
  integer_rows_to<U32>(table);
  integer_rows_to<std::int32_t>(table);
  integer_rows_to<U64>(table);
  integer_rows_to<std::int64_t>(table);

  float_to_integer_rows<std::uint8_t>(table);
  float_to_integer_rows<std::int8_t>(table);
  float_to_integer_rows<std::uint16_t>(table);
  float_to_integer_rows<std::int16_t>(table);
  float_to_integer_rows<U32>(table);
  float_to_integer_rows<std::int32_t>(table);
  float_to_integer_rows<U64>(table);
  float_to_integer_rows<std::int64_t>(table);

  integer_to_float_rows<std::uint8_t>(table);
  integer_to_float_rows<std::int8_t>(table);
  integer_to_float_rows<std::uint16_t>(table);
  integer_to_float_rows<std::int16_t>(table);
  integer_to_float_rows<U32>(table);
  integer_to_float_rows<std::int32_t>(table);
  integer_to_float_rows<U64>(table);
  integer_to_float_rows<std::int64_t>(table);

  pack_pair_row<false>(table, "cvt.rn.f16x2.f32");
  pack_pair_row<true>(table, "cvt.rn.bf16x2.f32");
  narrow_rows<Rounding::rn, Clamp::none>(table, "");
  narrow_rows<Rounding::rz, Clamp::none>(table, "");
  narrow_rows<Rounding::rm, Clamp::none>(table, "");
  narrow_rows<Rounding::rp, Clamp::none>(table, "");
  narrow_rows<Rounding::rn, Clamp::sat>(table, ".sat");
  narrow_rows<Rounding::rz, Clamp::sat>(table, ".sat");
  narrow_rows<Rounding::rn, Clamp::relu>(table, ".relu");
  narrow_rows<Rounding::rz, Clamp::relu>(table, ".relu");

  table.add(lanes<[](std::uint16_t v) -> float { return numeric::to_float(numeric::Half{v}); }>(
      "cvt.f32.f16"));
  table.add(
      lanes<[](std::uint16_t v) -> float { return flush(numeric::to_float(numeric::Half{v})); }>(
          "cvt.ftz.f32.f16"));
  table.add(
      lanes<[](std::uint16_t v) -> float { return saturate(numeric::to_float(numeric::Half{v})); }>(
          "cvt.sat.f32.f16"));
  table.add(lanes<[](std::uint16_t v) -> float {
    return canonical(numeric::to_float(numeric::BFloat16{v}));
  }>("cvt.f32.bf16"));
  table.add(scalar_lanes<[](std::uint16_t v) -> double { return widen_keeping_nan(v, false); }>(
      "cvt.f64.f16"));
  table.add(scalar_lanes<[](std::uint16_t v) -> double { return widen_keeping_nan(v, true); }>(
      "cvt.f64.bf16"));
  table.add(scalar_lanes<[](double v) -> std::uint16_t {
    return is_nan(v) ? narrow_nan(v, 10) : numeric::to_half(v).bits;
  }>("cvt.rn.f16.f64"));
  table.add(scalar_lanes<[](double v) -> std::uint16_t {
    return is_nan(v) ? narrow_nan(v, 7) : numeric::to_bfloat16(v).bits;
  }>("cvt.rn.bf16.f64"));
  table.add(lanes<[](float v) -> double { return static_cast<double>(v); }>("cvt.f64.f32"));
  double_to_single_row<Rounding::rn>(table);
  double_to_single_row<Rounding::rz>(table);
  double_to_single_row<Rounding::rm>(table);
  double_to_single_row<Rounding::rp>(table);
  integral_rows<Rounding::rn>(table);
  integral_rows<Rounding::rz>(table);
  integral_rows<Rounding::rm>(table);
  integral_rows<Rounding::rp>(table);
  table.add(lanes<[](float v) -> float { return canonical(v); }>("cvt.f32.f32"));
  table.add(lanes<[](float v) -> float { return canonical(flush(v)); }>("cvt.ftz.f32.f32"));
  table.add(lanes<[](float v) -> float { return saturate(v); }>("cvt.sat.f32.f32"));
  table.add(lanes<[](float v) -> float { return saturate(flush(v)); }>("cvt.ftz.sat.f32.f32"));
}

}  // namespace bitgate::machine
