#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/exec/rounding.h"

// f32 and f64 arithmetic (PTX ISA 9.7.3), one IEEE rounding each.

namespace bitgate::machine {

namespace {

/// A function under the rounding in Op::immediate. It is kept out of line from the mode change by
/// the memory barriers of RoundingScope: sources and destination are memory.
template <auto F>
void rounded(Context& x, const Op& op) {
  const RoundingScope scope(static_cast<Rounding>(op.immediate));
  ScalarSignature<decltype(&decltype(F)::operator())>::template apply<F>(x, op);
}

template <auto F>
[[gnu::cold]] void add_rounded(DecodeTable& table, Rounding rounding, const std::string& mnemonic) {
  if (rounding == Rounding::rn) {
    table.add(lanes<F>(mnemonic));
    return;
  }
  DecodeTable::Row row = SignatureOf<F>::row(mnemonic);
  row.full = &rounded<F>;
  row.masked = row.full;
  row.immediate = static_cast<std::int64_t>(rounding);
  table.add(row);
}

/// The function for the unmarked mnemonic too, where PTX has one: it rounds to nearest even.
template <auto F>
[[gnu::cold]] void add_all_roundings(DecodeTable& table, const std::string& opcode,
                                     const std::string& suffix, bool unmarked) {
  if (unmarked) table.add(lanes<F>(opcode + suffix));
  for (const Rounding r : {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp}) {
    add_rounded<F>(table, r, opcode + "." + name(r) + suffix);
  }
}

template <bool Flush>
constexpr float in(float v) {
  return Flush ? flush(v) : v;
}
template <bool Flush, bool Saturate>
constexpr float out(float v) {
  if constexpr (Saturate) {
    // After the flush: a subnormal result is within [0, 1] as it stands.
    return saturate(Flush ? flush(v) : v);
  } else {
    return canonical(Flush ? flush(v) : v);
  }
}

/// Flushes a tiny result: one that stays below the normal numbers when it is rounded to 24 bits
/// with an exponent as small as it needs. `scaled` is the same operation on numbers 2^64 times
/// larger. Rounded up into the normal numbers from further below, it is flushed all the same: an
/// H200's vectors of mul.rm.ftz.f32, mul.rp.ftz.f32 and div.rm.ftz.f32.
template <bool Saturate>
inline float out_flushed(float v, float scaled) {
  const bool tiny = std::abs(scaled) < 0x1p-62F;
  return out<false, Saturate>(
      tiny ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & 0x80000000U) : v);
}
constexpr double kScale = 0x1p64;

template <bool Flush, bool Saturate>
float product(float a, float b) {
  if constexpr (!Flush) return out<false, Saturate>(a * b);
  const float x = flush(a);
  const float y = flush(b);
  // Exact in f64, so that it is rounded once.
  const double exact = static_cast<double>(x) * static_cast<double>(y);
  return out_flushed<Saturate>(x * y, static_cast<float>(exact * kScale));
}

template <bool Flush, bool Saturate>
float fused(float a, float b, float c) {
  if constexpr (!Flush) return out<false, Saturate>(std::fma(a, b, c));
  const float x = flush(a);
  const float y = flush(b);
  const float z = flush(c);
  const double sum =
      std::fma(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z));
  return out_flushed<Saturate>(std::fma(x, y, z), static_cast<float>(sum * kScale));
}

template <bool Flush>
float quotient(float a, float b) {
  if constexpr (!Flush) return out<false, false>(a / b);
  const float x = flush(a);
  const float y = flush(b);
  return out_flushed<false>(x / y, x * static_cast<float>(kScale) / y);
}

template <bool Flush, bool Saturate>
[[gnu::cold]] void single_rows(DecodeTable& table) {
  const std::string suffix = std::string(Flush ? ".ftz" : "") + (Saturate ? ".sat" : "") + ".f32";
  add_all_roundings<[](float a, float b) -> float {
    return out<Flush, Saturate>(in<Flush>(a) + in<Flush>(b));
  }>(table, "add", suffix, true);
  add_all_roundings<[](float a, float b) -> float {
    return out<Flush, Saturate>(in<Flush>(a) - in<Flush>(b));
  }>(table, "sub", suffix, true);
  add_all_roundings<[](float a, float b) -> float { return product<Flush, Saturate>(a, b); }>(
      table, "mul", suffix, true);
  add_all_roundings<[](float a, float b, float c) -> float {
    return fused<Flush, Saturate>(a, b, c);
  }>(table, "fma", suffix, false);
  add_all_roundings<[](float a, float b, float c) -> float {
    return fused<Flush, Saturate>(a, b, c);
  }>(table, "mad", suffix, false);
}

template <bool Flush>
[[gnu::cold]] void single_rows_without_saturation(DecodeTable& table) {
  const std::string suffix = std::string(Flush ? ".ftz" : "") + ".f32";
  add_all_roundings<[](float a, float b) -> float { return quotient<Flush>(a, b); }>(table, "div",
                                                                                     suffix, false);
  add_all_roundings<[](float a) -> float { return quotient<Flush>(1.0F, a); }>(table, "rcp", suffix,
                                                                               false);
  add_all_roundings<[](float a) -> float { return out<Flush, false>(std::sqrt(in<Flush>(a))); }>(
      table, "sqrt", suffix, false);
  table.add(lanes<[](float a) -> float {
    const float v = in<Flush>(a);
    return canonical(std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & 0x7fffffffU));
  }>("abs" + suffix));
  table.add(lanes<[](float a) -> float {
    const float v = in<Flush>(a);
    return canonical(std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) ^ 0x80000000U));
  }>("neg" + suffix));
}

/// An integer that orders f32 as numbers do, −0 below +0.
constexpr std::int32_t ordered(float v) {
  const auto bits = std::bit_cast<std::int32_t>(v);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
constexpr std::int64_t ordered(double v) {
  const auto bits = std::bit_cast<std::int64_t>(v);
  return bits ^ ((bits >> 63) & 0x7fffffffffffffffLL);
}

template <bool Maximum, bool PropagateNan>
constexpr float extreme(float a, float b) {
  const bool a_first = Maximum ? ordered(a) > ordered(b) : ordered(a) < ordered(b);
  const bool take_b = is_nan(a) || (!is_nan(b) && !a_first);
  const float number = canonical(take_b ? b : a);
  if constexpr (PropagateNan) {
    return is_nan(a) || is_nan(b) ? std::bit_cast<float>(kNan32) : number;
  } else {
    return number;
  }
}

/// .xorsign.abs: of the magnitudes, with the product of the signs.
template <bool Maximum, bool PropagateNan>
constexpr float extreme_magnitude(float a, float b) {
  constexpr std::uint32_t kSign = 0x80000000U;
  const auto x = std::bit_cast<std::uint32_t>(a);
  const auto y = std::bit_cast<std::uint32_t>(b);
  const float r = extreme<Maximum, PropagateNan>(std::bit_cast<float>(x & ~kSign),
                                                 std::bit_cast<float>(y & ~kSign));
  return canonical(std::bit_cast<float>(std::bit_cast<std::uint32_t>(r) | ((x ^ y) & kSign)));
}

template <bool Maximum, bool Flush, bool PropagateNan>
[[gnu::cold]] void extreme_rows(DecodeTable& table, const std::string& opcode) {
  const std::string prefix = opcode + (Flush ? ".ftz" : "") + (PropagateNan ? ".NaN" : "");
  table.add(lanes<[](float a, float b) -> float {
    return extreme<Maximum, PropagateNan>(in<Flush>(a), in<Flush>(b));
  }>(prefix + ".f32"));
  table.add(scalar_lanes<[](float a, float b) -> float {
    return extreme_magnitude<Maximum, PropagateNan>(in<Flush>(a), in<Flush>(b));
  }>(prefix + ".xorsign.abs.f32"));
}

template <bool Maximum>
[[gnu::cold]] void all_extreme_rows(DecodeTable& table, const std::string& opcode) {
  extreme_rows<Maximum, false, false>(table, opcode);
  extreme_rows<Maximum, false, true>(table, opcode);
  extreme_rows<Maximum, true, false>(table, opcode);
  extreme_rows<Maximum, true, true>(table, opcode);
}

// With two NaNs, add, sub, mul, min and max take the second operand's; fma takes b's, then c's,
// then a's; div the first's.
constexpr double pick_nan(double a, double b, double result) {
  if (is_nan(b)) return quiet(b);
  if (is_nan(a)) return quiet(a);
  return result;
}

template <bool Maximum>
constexpr double extreme(double a, double b) {
  if (is_nan(a) && is_nan(b)) return quiet(b);
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  const bool a_first = Maximum ? ordered(a) > ordered(b) : ordered(a) < ordered(b);
  return a_first ? a : b;
}

[[gnu::cold]] void double_rows(DecodeTable& table) {
  add_all_roundings<[](double a, double b) -> double { return pick_nan(a, b, a + b); }>(
      table, "add", ".f64", true);
  add_all_roundings<[](double a, double b) -> double { return pick_nan(a, b, a - b); }>(
      table, "sub", ".f64", true);
  add_all_roundings<[](double a, double b) -> double { return pick_nan(a, b, a * b); }>(
      table, "mul", ".f64", true);
  constexpr auto fused = [](double a, double b, double c) -> double {
    if (is_nan(b)) return quiet(b);
    if (is_nan(c)) return quiet(c);
    if (is_nan(a)) return quiet(a);
    return std::fma(a, b, c);
  };
  add_all_roundings<fused>(table, "fma", ".f64", false);
  add_all_roundings<fused>(table, "mad", ".f64", false);
  add_all_roundings<[](double a, double b) -> double { return pick_nan(b, a, a / b); }>(
      table, "div", ".f64", false);
  add_all_roundings<[](double a) -> double { return is_nan(a) ? quiet(a) : 1.0 / a; }>(
      table, "rcp", ".f64", false);
  add_all_roundings<[](double a) -> double { return is_nan(a) ? quiet(a) : std::sqrt(a); }>(
      table, "sqrt", ".f64", false);
  table.add(lanes<[](double a, double b) -> double { return extreme<false>(a, b); }>("min.f64"));
  table.add(lanes<[](double a, double b) -> double { return extreme<true>(a, b); }>("max.f64"));
  // A NaN's sign stays.
  table.add(
      lanes<[](double a) -> double { return is_nan(a) ? quiet(a) : std::abs(a); }>("abs.f64"));
  table.add(lanes<[](double a) -> double { return is_nan(a) ? quiet(a) : -a; }>("neg.f64"));
}

}  // namespace

[[gnu::cold]] void add_float_rows(DecodeTable& table) {
  single_rows<false, false>(table);
  single_rows<false, true>(table);
  single_rows<true, false>(table);
  single_rows<true, true>(table);
  single_rows_without_saturation<false>(table);
  single_rows_without_saturation<true>(table);
  all_extreme_rows<false>(table, "min");
  all_extreme_rows<true>(table, "max");
  double_rows(table);

  // copysign: the sign of a, the magnitude of b; payloads stay.
  table.add(lanes<[](std::uint32_t a, std::uint32_t b) -> std::uint32_t {
    return (a & 0x80000000U) | (b & 0x7fffffffU);
  }>("copysign.f32"));
  table.add(lanes<[](std::uint64_t a, std::uint64_t b) -> std::uint64_t {
    return (a & 0x8000000000000000ULL) | (b & 0x7fffffffffffffffULL);
  }>("copysign.f64"));
}

}  // namespace bitgate::machine
