#include "reference/machine/vectors/inputs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "reference/support/random.h"

namespace bitgate::machine::vectors {

namespace {

using U64 = std::uint64_t;

/// A binary format by its fields.
struct Format {
  unsigned exponent_bits = 0;
  unsigned fraction_bits = 0;

  unsigned bits() const { return 1 + exponent_bits + fraction_bits; }
  U64 top_exponent() const { return (U64{1} << exponent_bits) - 1; }
  U64 fraction_mask() const { return (U64{1} << fraction_bits) - 1; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  U64 sign() const { return U64{1} << (bits() - 1); }
  U64 make(bool negative, U64 exponent, U64 fraction) const {
    return (negative ? sign() : 0) | exponent << fraction_bits | (fraction & fraction_mask());
  }
};

constexpr Format kF16{5, 10};
constexpr Format kBf16{8, 7};
constexpr Format kF32{8, 23};
constexpr Format kF64{11, 52};
constexpr Format kE4m3{4, 3};
constexpr Format kE5m2{5, 2};

/// Of one element of the value; null for integers.
const Format* format_of(Value value) {
  switch (value) {
    case Value::f16:
    case Value::f16x2:
      return &kF16;
    case Value::bf16:
    case Value::bf16x2:
      return &kBf16;
    case Value::f32:
    case Value::tf32:
      return &kF32;
    case Value::f64:
      return &kF64;
    case Value::e4m3x2:
    case Value::e4m3x4:
      return &kE4m3;
    case Value::e5m2x2:
    case Value::e5m2x4:
      return &kE5m2;
    default:
      return nullptr;
  }
}

/// The value truncated to the format: exact where it has the bits, so that steps of one place cross
/// the interesting limits. Out of range: the largest finite.
U64 encode(const Format& format, double value) {
  if (value == 0) return 0;
  const U64 bits = std::bit_cast<U64>(value);
  const bool negative = (bits >> 63) != 0;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const U64 fraction = bits & ((U64{1} << 52) - 1);
  const int field = exponent + format.bias();
  if (field >= static_cast<int>(format.top_exponent())) {
    return format.make(negative, format.top_exponent() - 1, format.fraction_mask());
  }
  if (field >= 1) {
    return format.make(negative, static_cast<U64>(field), fraction >> (52 - format.fraction_bits));
  }
  const int shift = 52 - static_cast<int>(format.fraction_bits) + 1 - field;
  return format.make(negative, 0, shift > 52 ? 0 : (fraction | U64{1} << 52) >> shift);
}

double decode(const Format& format, U64 bits) {
  const bool negative = (bits & format.sign()) != 0;
  const U64 exponent = bits >> format.fraction_bits & format.top_exponent();
  const auto fraction = static_cast<double>(bits & format.fraction_mask());
  const int shift = -format.bias() - static_cast<int>(format.fraction_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, shift + 1)
                    : std::ldexp(fraction + std::ldexp(1.0, static_cast<int>(format.fraction_bits)),
                                 shift + static_cast<int>(exponent));
  return negative ? -magnitude : magnitude;
}

U64 any_float(const Format& f, Random& random) {
  const bool negative = random.chance(0.5);
  const auto few = [&] { return random.below(3); };
  switch (random.below(16)) {
    case 0: {  // NaN: quiet and signalling, payloads of all kinds
      const U64 quiet = U64{1} << (f.fraction_bits - 1);
      const U64 payloads[] = {1, f.fraction_mask(), quiet, quiet | 1, random.next(), quiet - 1};
      return f.make(negative, f.top_exponent(), payloads[random.below(6)]);
    }
    case 1:
      return f.make(negative, random.chance(0.5) ? f.top_exponent() : 0, 0);
    case 2: {  // subnormals
      const U64 fractions[] = {1, f.fraction_mask(), random.next(), random.next() >> 32 & 15,
                               U64{1} << random.below(f.fraction_bits)};
      return f.make(negative, 0, fractions[random.below(5)]);
    }
    case 3:  // the ends of the range
      return random.chance(0.5) ? f.make(negative, f.top_exponent() - 1, f.fraction_mask() - few())
                                : f.make(negative, 1 + few(), few());
    case 4: {  // small integers and quarters
      const double value = static_cast<double>(random.between(-64, 64)) / 4;
      return encode(f, value);
    }
    case 5: {  // the limits of integer types
      constexpr std::array kPowers{7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64};
      constexpr std::array kSteps{-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0};
      const double limit = std::ldexp(1.0, kPowers[random.below(kPowers.size())]);
      const U64 bits = encode(f, limit + kSteps[random.below(kSteps.size())]);
      return (negative ? f.sign() : 0) | (bits - 1 + random.below(3));
    }
    case 6: {  // the limits of narrower floats
      constexpr std::array kLimits{
          65504.0,  65520.0,    0x1p-14,    0x1p-24,        0x1p-25,       0x1.8p-25,  448.0,
          464.0,    480.0,      57344.0,    61440.0,        0x1p-6,        0x1p-9,     0x1p-10,
          0x1p-16,  0x1p-17,    0x1p-126,   0x1p-149,       0x1p-150,      0x1.8p-150, 0x1p-133,
          0x1p-134, 0x1.fep127, 0x1.ffp127, 0x1.fffffep127, 0x1.ffffffp127};
      const U64 bits = encode(f, kLimits[random.below(kLimits.size())]);
      return (negative ? f.sign() : 0) | (bits + random.below(3) - (bits != 0 ? 1 : 0));
    }
    case 7:
    case 8: {  // half-way between values of fewer bits, and a step beside it
      const unsigned low = static_cast<unsigned>(1 + random.below(f.fraction_bits));
      const U64 tie = U64{1} << (low - 1);
      U64 fraction = (random.next() & f.fraction_mask()) >> low << low;
      fraction |= (tie + random.below(3) - 1) & ((U64{1} << low) - 1);
      const int spread = std::min(f.bias() - 2, 40);
      const auto exponent = static_cast<U64>(f.bias() + random.between(-spread, spread));
      return f.make(negative, exponent, fraction);
    }
    case 9:  // near one
      return f.make(negative, static_cast<U64>(f.bias()) - random.below(2),
                    random.chance(0.5) ? few() : f.fraction_mask() - few());
    case 10:
    case 11:
    case 12: {  // ordinary sizes
      const int spread = std::min(f.bias() - 2, 12);
      return f.make(negative, static_cast<U64>(f.bias() + random.between(-spread, spread)),
                    random.next());
    }
    default:
      return random.next() & ((f.sign() << 1) - 1);
  }
}

U64 mask_of(unsigned bits) { return bits >= 64 ? ~U64{0} : (U64{1} << bits) - 1; }

U64 any_integer(unsigned bits, Random& random) {
  const U64 mask = mask_of(bits);
  switch (random.below(8)) {
    case 0:
      return static_cast<U64>(random.between(-4, 4)) & mask;
    case 1: {
      const U64 power = U64{1} << random.below(bits);
      return (random.chance(0.5) ? power : U64{0} - power) + random.below(3) - 1;
    }
    case 2:
      return (random.chance(0.5) ? mask : mask >> 1) + random.below(2);
    case 3:  // few bits, so that products and quotients stay small
      return random.next() >> (64 - 1 - random.below(bits));
    case 4: {  // bytes and halves at their ends
      U64 value = 0;
      for (unsigned i = 0; i < bits; i += 8) {
        constexpr std::array<U64, 6> kEnds{0, 1, 0x7f, 0x80, 0x81, 0xff};
        const U64 byte = random.chance(0.3) ? random.next() & 0xff : kEnds[random.below(6)];
        value |= byte << i;
      }
      return value;
    }
    default:
      return random.next();
  }
}

U64 any_amount(Random& random) {
  switch (random.below(4)) {
    case 0: {
      constexpr std::array<U64, 14> kLimits{0,  1,  15, 16, 17,  31,  32,
                                            33, 63, 64, 65, 255, 256, 0xffffffffU};
      return kLimits[random.below(kLimits.size())];
    }
    case 1:
      return random.next() & 0xffffffffU;
    default:
      return random.below(72);
  }
}

/// Two different, ascending positions of four in each nibble: 01, 02, 03, 12, 13, 23.
U64 any_metadata(Random& random, bool pairs) {
  constexpr std::array<U64, 6> kTwoOfFour{0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  constexpr std::array<U64, 2> kOneOfTwo{0x4, 0xe};
  U64 value = 0;
  for (unsigned i = 0; i < 32; i += 4) {
    value |= (pairs ? kOneOfTwo[random.below(2)] : kTwoOfFour[random.below(6)]) << i;
  }
  return value;
}

U64 pack(const Format& f, unsigned elements, const std::array<U64, 4>& parts) {
  U64 value = 0;
  for (unsigned e = 0; e < elements; ++e) value |= parts[e] << (e * f.bits());
  return value;
}

U64 draw(Value value, Random& random) {
  const Shape& s = shape(value);
  if (const Format* f = format_of(value)) {
    std::array<U64, 4> parts{};
    for (unsigned e = 0; e < s.elements; ++e) parts[e] = any_float(*f, random);
    return pack(*f, s.elements, parts);
  }
  switch (value) {
    case Value::predicate:
      return random.below(2);
    case Value::shift:
      return any_amount(random);
    case Value::two_of_4:
    case Value::one_of_2:
      return any_metadata(random, value == Value::one_of_2);
    case Value::u8:
    case Value::s8:  // the register's upper byte must not matter
      return (any_integer(8, random) & 0xffU) | (random.next() & 0xff00U);
    default:
      return any_integer(s.bits, random) & mask_of(s.bits);
  }
}

/// Makes the drawn operands of one element related to each other, in a third of the vectors.
void relate(const Format& f, std::span<U64> operands, Random& random) {
  if (operands.size() < 2 || !random.chance(0.34)) return;
  const U64 field = f.top_exponent() << f.fraction_bits;
  const bool finite = (operands[0] & field) != field && (operands[1] & field) != field;
  switch (random.below(7)) {
    case 0:
      operands[1] = operands[0];
      break;
    case 1:
      operands[1] = operands[0] ^ f.sign();
      break;
    case 2: {  // a product beside the least normal number, where .ftz begins
      const double other = std::ldexp(1.0, 1 - f.bias()) / decode(f, operands[0]);
      if (finite && std::isfinite(other)) operands[1] = encode(f, other) + random.below(3);
      break;
    }
    case 3:
    case 4: {  // near in size: sums cancel, quotients are near one
      const auto exponent =
          static_cast<std::int64_t>(operands[0] >> f.fraction_bits & f.top_exponent());
      const std::int64_t near = std::clamp<std::int64_t>(
          exponent + random.between(-2, 2), 0, static_cast<std::int64_t>(f.top_exponent()));
      operands[1] = f.make((operands[1] & f.sign()) != 0, static_cast<U64>(near), operands[1]);
      break;
    }
    default: {  // a product and its operand: exact quotients, cancelling fma
      if (!finite) break;
      const double product = decode(f, operands[0]) * decode(f, operands[1]);
      if (!std::isfinite(product)) break;
      const U64 bits = encode(f, product) + random.below(3) - 1;
      if (operands.size() > 2) {
        operands[2] = (bits ^ f.sign()) & ((f.sign() << 1) - 1);
      } else {
        operands[0] = bits & ((f.sign() << 1) - 1);
      }
    }
  }
}

void relate_integers(unsigned bits, std::span<U64> operands, Random& random) {
  if (operands.size() < 2 || !random.chance(0.25)) return;
  const U64 mask = mask_of(bits);
  switch (random.below(4)) {
    case 0:
      operands[1] = operands[0];
      break;
    case 1:
      operands[1] = (U64{0} - operands[0]) & mask;
      break;
    case 2:
      operands[1] = (operands[0] + static_cast<U64>(random.between(-2, 2))) & mask;
      break;
    default:
      operands[0] =
          (operands[1] * random.below(1000) + static_cast<U64>(random.between(-1, 1))) & mask;
  }
}

void draw_thread(const Form& form, Random& random, std::span<U64> sources) {
  const Value first = form.sources.front();
  const Format* f = format_of(first);
  // The leading sources of one kind are related; the rest stand alone.
  std::size_t alike = 1;
  while (alike < form.sources.size() && form.sources[alike] == first) ++alike;
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = draw(form.sources[i], random);
  if (f == nullptr) {
    if (first != Value::predicate && first != Value::shift) {
      relate_integers(shape(first).bits, sources.first(alike), random);
    }
    return;
  }
  const U64 mask = mask_of(f->bits());
  std::array<U64, 8> element{};
  for (unsigned e = 0; e < shape(first).elements; ++e) {
    const unsigned at = e * f->bits();
    for (std::size_t i = 0; i < alike; ++i) element[i] = sources[i] >> at & mask;
    relate(*f, std::span(element).first(alike), random);
    for (std::size_t i = 0; i < alike; ++i) {
      sources[i] = (sources[i] & ~(mask << at)) | (element[i] & mask) << at;
    }
  }
}

/// How the elements of a fragment are spread over a warp's matrix.
enum class Spread : std::uint8_t { any, finite, narrow, tiny, cancelling, integers, huge, sparse };

U64 matrix_element(const Format& f, Spread spread, Random& random) {
  const bool negative = random.chance(0.5);
  const auto exponent = [&](std::int64_t low, std::int64_t high) {
    return static_cast<U64>(std::clamp<std::int64_t>(
        random.between(low, high), 0, static_cast<std::int64_t>(f.top_exponent()) - 1));
  };
  const int bias = f.bias();
  switch (spread) {
    case Spread::any:
      return any_float(f, random);
    case Spread::finite:
      return f.make(negative, exponent(0, static_cast<std::int64_t>(f.top_exponent())),
                    random.next());
    case Spread::narrow:
    case Spread::cancelling:
      return f.make(negative, exponent(bias - 2, bias + 2), random.next());
    case Spread::tiny:
      return f.make(negative, exponent(0, 2), random.next());
    case Spread::integers:
      return encode(f, static_cast<double>(random.between(-8, 8)));
    case Spread::huge:
      return f.make(negative,
                    exponent(static_cast<std::int64_t>(f.top_exponent()) - 3,
                             static_cast<std::int64_t>(f.top_exponent())),
                    random.next());
    case Spread::sparse:
      return random.chance(0.8) ? 0
                                : f.make(negative, exponent(bias - 12, bias + 12), random.next());
  }
  return 0;
}

U64 matrix_register(Value value, Spread spread, bool is_b, Random& random) {
  const Format* f = format_of(value);
  if (f == nullptr) return draw(value, random);
  const unsigned elements = shape(value).elements;
  std::array<U64, 4> parts{};
  for (unsigned e = 0; e < elements; ++e) parts[e] = matrix_element(*f, spread, random);
  if (spread == Spread::cancelling && elements > 1) {
    // Neighbours in k: equal in A, opposite in B, now and then a step apart.
    parts[1] = (is_b ? parts[0] ^ f->sign() : parts[0]) ^ (random.chance(0.3) ? 1U : 0U);
  }
  return pack(*f, elements, parts);
}

/// Sources of a warp's threads: the fragments of A and B share one spread, C has its own. Adjacent
/// sources of the results' kind at the end are C.
void draw_warp(const Form& form, Random& random, std::uint32_t threads, std::uint32_t first,
               std::vector<U64>& words) {
  const bool metadata =
      form.sources.back() == Value::two_of_4 || form.sources.back() == Value::one_of_2;
  const std::size_t c_end = form.sources.size() - (metadata ? 1 : 0);
  const std::size_t c_begin = c_end - form.results.size();
  const auto ab = static_cast<Spread>(random.below(8));
  const auto c = random.chance(0.4) ? ab : static_cast<Spread>(random.below(8));
  const bool no_c = random.chance(0.1);
  for (std::size_t source = 0; source < form.sources.size(); ++source) {
    const bool is_c = source >= c_begin && source < c_end;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      U64& word = words[source * threads + first + lane];
      word = is_c && no_c ? 0
                          : matrix_register(form.sources[source], is_c ? c : ab,
                                            source >= form.a_registers && !is_c, random);
    }
  }
}

}  // namespace

std::string signature(const Form& form) {
  std::string text = form.a_registers != 0 ? "warp" : "thread";
  for (const Value source : form.sources) {
    text += ' ';
    text += std::to_string(static_cast<int>(source));
  }
  if (form.a_registers != 0) {
    text += " " + std::to_string(form.a_registers) + " " + std::to_string(form.results.size());
  }
  return text;
}

std::vector<U64> inputs(const Form& form, U64 seed, std::uint32_t threads) {
  Random random(seed, signature(form));
  std::vector<U64> words(form.sources.size() * threads);
  if (form.a_registers != 0) {
    for (std::uint32_t first = 0; first < threads; first += 32) {
      draw_warp(form, random, threads, first, words);
    }
    return words;
  }
  std::vector<U64> sources(form.sources.size());
  for (std::uint32_t i = 0; i < threads; ++i) {
    draw_thread(form, random, sources);
    for (std::size_t k = 0; k < sources.size(); ++k) words[k * threads + i] = sources[k];
  }
  return words;
}

struct Drawer::Impl {
  Random random;
};

Drawer::Drawer(U64 seed, const std::string& purpose) : impl_(new Impl{Random(seed, purpose)}) {}
Drawer::~Drawer() { delete impl_; }
U64 Drawer::draw(Value value) { return vectors::draw(value, impl_->random); }

}  // namespace bitgate::machine::vectors
