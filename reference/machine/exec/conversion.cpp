#include "reference/machine/exec/conversion.h"

#include <bit>

#include "reference/machine/exec/nan.h"

namespace bitgate::machine {

namespace {

using U64 = std::uint64_t;

struct Layout {
  std::string_view name;
  std::uint8_t bytes;
  std::uint8_t exponent_bits;  ///< 0: an integer
  std::uint8_t fraction_bits;
  std::uint8_t unused_bits;  ///< below the fraction
};
constexpr Layout kLayouts[kFormats] = {
    {"u8", 1, 0, 0, 0},     {"s8", 1, 0, 0, 0},   {"u16", 2, 0, 0, 0},   {"s16", 2, 0, 0, 0},
    {"u32", 4, 0, 0, 0},    {"s32", 4, 0, 0, 0},  {"u64", 8, 0, 0, 0},   {"s64", 8, 0, 0, 0},
    {"e4m3", 1, 4, 3, 0},   {"e5m2", 1, 5, 2, 0}, {"f16", 2, 5, 10, 0},  {"bf16", 2, 8, 7, 0},
    {"tf32", 4, 8, 10, 13}, {"f32", 4, 8, 23, 0}, {"f64", 8, 11, 52, 0},
};
constexpr const Layout& layout(Format format) { return kLayouts[static_cast<unsigned>(format)]; }

/// (−1)^negative · significand · 2^exponent.
struct Number {
  enum class Class : std::uint8_t { finite, infinite, nan } kind = Class::finite;
  bool negative = false;
  int exponent = 0;
  U64 significand = 0;
};

constexpr U64 ones(unsigned bits) { return bits >= 64 ? ~U64{0} : (U64{1} << bits) - 1; }

U64 sign_extended(U64 bits, unsigned width) {
  const U64 sign = U64{1} << (width - 1);
  return ((bits & ones(width)) ^ sign) - sign;
}

int bias(const Layout& f) { return (1 << (f.exponent_bits - 1)) - 1; }

/// e4m3 has no infinity: its last exponent holds numbers, and one NaN.
bool has_infinity(Format format) { return format != Format::e4m3; }
U64 infinity_of(const Layout& f) { return ones(f.exponent_bits) << f.fraction_bits; }
U64 largest_finite(Format format) {
  const Layout& f = layout(format);
  return has_infinity(format) ? infinity_of(f) - 1 : ones(f.exponent_bits + f.fraction_bits) - 1;
}

Number read_integer(Format format, U64 bits) {
  const unsigned width = layout(format).bytes * 8U;
  Number n;
  n.significand = bits & ones(width);
  if (is_signed(format)) {
    const U64 value = sign_extended(bits, width);
    n.negative = value >> 63 != 0;
    n.significand = n.negative ? U64{0} - value : value;
  }
  return n;
}

Number read_float(Format format, U64 bits) {
  const Layout& f = layout(format);
  bits >>= f.unused_bits;
  const U64 magnitude = bits & ones(f.exponent_bits + f.fraction_bits);
  const U64 fraction = bits & ones(f.fraction_bits);
  const auto exponent = static_cast<int>(magnitude >> f.fraction_bits);
  Number n;
  n.negative = (bits >> (f.exponent_bits + f.fraction_bits) & 1U) != 0;
  n.significand = fraction;
  if (magnitude > largest_finite(format)) {
    n.kind = has_infinity(format) && fraction == 0 ? Number::Class::infinite : Number::Class::nan;
    return n;
  }
  if (exponent != 0) n.significand |= U64{1} << f.fraction_bits;
  n.exponent = (exponent == 0 ? 1 : exponent) - bias(f) - f.fraction_bits;
  return n;
}

/// significand · 2^−shift as an integer, rounded.
U64 shift_and_round(U64 significand, int shift, Rounding rounding, bool negative) {
  if (shift <= 0) return significand << -shift;
  const U64 kept = shift >= 64 ? 0 : significand >> shift;
  const U64 lost = shift >= 64 ? significand : significand & ones(static_cast<unsigned>(shift));
  if (lost == 0) return kept;
  // Against half a unit; beyond 64 places what is lost is always less.
  const U64 half = shift > 64 ? 0 : U64{1} << (shift - 1);
  const bool above = shift <= 64 && lost > half;
  const bool tie = shift <= 64 && lost == half;
  switch (rounding) {
    case Rounding::rn:
      return kept + (above || (tie && (kept & 1U) != 0) ? 1U : 0U);
    case Rounding::rna:
      return kept + (above || tie ? 1U : 0U);
    case Rounding::rz:
      return kept;
    case Rounding::rm:
      return kept + (negative ? 1U : 0U);
    case Rounding::rp:
      return kept + (negative ? 0U : 1U);
  }
  return kept;
}

U64 write_float(const Number& n, Format format, Rounding rounding, bool satfinite) {
  const Layout& f = layout(format);
  const U64 sign = n.negative ? U64{1} << (f.exponent_bits + f.fraction_bits) : 0;
  const U64 largest = largest_finite(format);
  const U64 beyond = satfinite || !has_infinity(format) ? largest : infinity_of(f);
  if (n.kind == Number::Class::infinite) return (sign | beyond) << f.unused_bits;
  if (n.significand == 0) return sign << f.unused_bits;
  const int lowest = 1 - bias(f);
  const int top = n.exponent + 63 - std::countl_zero(n.significand);
  const int exponent = top < lowest ? lowest : top;
  const int quantum = exponent - f.fraction_bits;
  const U64 rounded = shift_and_round(n.significand, quantum - n.exponent, rounding, n.negative);
  // The implicit bit adds one to the exponent field, and so does a carry out of the fraction.
  const U64 magnitude = (static_cast<U64>(exponent - lowest) << f.fraction_bits) + rounded;
  if (magnitude <= largest) return (sign | magnitude) << f.unused_bits;
  const bool to_infinity = rounding == Rounding::rn || rounding == Rounding::rna ||
                           (rounding == Rounding::rp && !n.negative) ||
                           (rounding == Rounding::rm && n.negative);
  return (sign | (to_infinity ? beyond : largest)) << f.unused_bits;
}

/// Rounded to an integer, in place.
void round_to_integer(Number& n, Rounding rounding) {
  if (n.kind != Number::Class::finite || n.exponent >= 0) return;
  n.significand = shift_and_round(n.significand, -n.exponent, rounding, n.negative);
  n.exponent = 0;
}

/// `n` is an integer or infinite.
U64 clamp_to_integer(const Number& n, Format format) {
  const unsigned width = layout(format).bytes * 8U;
  const U64 most = is_signed(format) ? ones(width - 1) : ones(width);
  const U64 least = is_signed(format) ? most + 1 : 0;  // its magnitude
  const bool large = n.kind == Number::Class::infinite ||
                     (n.significand != 0 &&
                      n.exponent + 63 - std::countl_zero(n.significand) >= static_cast<int>(width));
  const U64 magnitude = large ? ~U64{0} : n.significand << n.exponent;
  if (!n.negative) return large || magnitude > most ? most : magnitude;
  return U64{0} - (large || magnitude > least ? least : magnitude);
}

U64 nan_as_integer(Format to, Format from) {
  const unsigned width = layout(to).bytes * 8U;
  if (width < 64 && from != Format::f64) return 0;
  return U64{1} << (width - 1);
}

U64 nan_as_float(const Conversion& c, U64 bits, const Number& n) {
  const Layout& to = layout(c.to);
  const Layout& from = layout(c.from);
  if (c.to == Format::tf32) {
    if (c.rounding != Rounding::rna) return 0x7fffe000U;
    // The fraction below the largest finite number's, as if the exponent were an ordinary one.
    const U64 truncated = bits & ~ones(to.unused_bits);
    return c.has(Conversion::satfinite) ? truncated - (U64{1} << to.unused_bits) : truncated;
  }
  if (c.to == Format::f32 && c.from == Format::bf16) return bits << 16;
  const bool keeps = (c.to == Format::f64 || c.from == Format::f64) &&
                     !(c.has(Conversion::flush) && c.from == Format::f32);
  const U64 canonical = ones(to.exponent_bits + to.fraction_bits);
  if (c.to == Format::f64 && !keeps) return 0x7fffffffe0000000ULL;
  if (!keeps) return canonical;
  const U64 sign = n.negative ? U64{1} << (to.exponent_bits + to.fraction_bits) : 0;
  const int wider = to.fraction_bits - from.fraction_bits;
  const U64 payload = wider >= 0 ? n.significand << wider : n.significand >> -wider;
  return sign | infinity_of(to) | U64{1} << (to.fraction_bits - 1) | payload;
}

bool is_single(Format format) { return format == Format::f32 || format == Format::tf32; }

U64 flush_single(U64 bits) { return (bits & 0x7f800000U) == 0 ? bits & 0x80000000U : bits; }

U64 one_of(Format format) {
  const Layout& f = layout(format);
  return static_cast<U64>(bias(f)) << f.fraction_bits << f.unused_bits;
}

U64 to_float(const Conversion& c, U64 bits) {
  Number n = is_integer(c.from) ? read_integer(c.from, bits) : read_float(c.from, bits);
  if (n.kind == Number::Class::nan) {
    return c.has(Conversion::saturate) ? 0 : nan_as_float(c, bits, n);
  }
  if (n.negative && (c.has(Conversion::saturate) || c.has(Conversion::relu))) return 0;
  if (c.has(Conversion::integral)) round_to_integer(n, c.rounding);
  U64 result = write_float(n, c.to, c.rounding, c.has(Conversion::satfinite));
  if (c.has(Conversion::flush) && c.to == Format::f32) result = flush_single(result);
  // Positive numbers are ordered like their bits.
  if (c.has(Conversion::saturate) && result > one_of(c.to)) result = one_of(c.to);
  return result;
}

U64 to_integer(const Conversion& c, U64 bits) {
  const unsigned width = layout(c.to).bytes * 8U;
  U64 result = 0;
  if (is_integer(c.from)) {
    const Number n = read_integer(c.from, bits);
    result = c.has(Conversion::saturate) ? clamp_to_integer(n, c.to)
                                         : (n.negative ? U64{0} - n.significand : n.significand);
  } else {
    Number n = read_float(c.from, bits);
    if (n.kind == Number::Class::nan) {
      result = nan_as_integer(c.to, c.from);
    } else {
      round_to_integer(n, c.rounding);
      result = clamp_to_integer(n, c.to);
    }
  }
  return is_signed(c.to) ? sign_extended(result, width) : result & ones(width);
}

}  // namespace

std::string_view name(Format format) { return layout(format).name; }
std::uint32_t bytes(Format format) { return layout(format).bytes; }

std::uint64_t convert(const Conversion& c, std::uint64_t bits) {
  const bool moves = c.from == c.to && !is_integer(c.to) && c.flags == 0;
  if (moves && (c.to == Format::f32 || c.to == Format::f64)) return bits;
  if (c.has(Conversion::flush) && is_single(c.from)) bits = flush_single(bits);
  return is_integer(c.to) ? to_integer(c, bits) : to_float(c, bits);
}

}  // namespace bitgate::machine
