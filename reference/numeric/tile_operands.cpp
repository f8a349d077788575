#include "reference/numeric/tile_operands.h"

#include <algorithm>

#include "reference/support/random.h"

namespace bitgate::numeric {
namespace {

// A floating-point type by its sizes. Drawing works on bits alone, so that no rounding of the CPU
// plays a part.
class FloatBits {
 public:
  explicit FloatBits(TensorType type) : type_(type), layout_(layout(type)) {
    // tf32 keeps the bits that are not read: they must make no difference.
    fraction_bits_ = type == TensorType::tf32 ? 23 : layout_.fraction;
    bias_ = (1 << (layout_.exponent - 1)) - 1;
  }

  int lowest() const { return 1 - bias_; }  ///< exponent of the smallest normal number
  int highest() const { return largest_field() - bias_; }
  /// Of the smallest subnormal.
  int bottom() const { return lowest() - layout_.fraction; }

  std::uint64_t sign(bool negative) const {
    return negative ? std::uint64_t{1} << (layout_.bits - 1) : 0;
  }
  /// ±2^exponent · 1.fraction, the fraction random; a subnormal below lowest(), zero below that.
  std::uint64_t with_exponent(Random& random, int exponent) const {
    const std::uint64_t fraction = random.next();  // one draw a statement: the order is the seed's
    return sign(random.chance(0.5)) | magnitude(exponent, fraction);
  }
  std::uint64_t magnitude(int exponent, std::uint64_t fraction) const {
    exponent = std::min(exponent, highest());
    fraction &= fraction_mask();
    if (exponent >= lowest()) {
      const auto field = static_cast<std::uint64_t>(exponent + bias_);
      const std::uint64_t bits = field << fraction_bits_ | fraction;
      return std::min(bits, largest());
    }
    const int shift = lowest() - exponent;
    if (shift > fraction_bits_) return 0;
    return (fraction | std::uint64_t{1} << fraction_bits_) >> shift;
  }
  std::uint64_t subnormal(Random& random) const {
    const std::uint64_t fraction = random.next() & fraction_mask();
    return sign(random.chance(0.5)) | fraction;
  }
  std::uint64_t random_bits(Random& random) const {
    return layout_.bits == 64 ? random.next()
                              : random.next() & ((std::uint64_t{1} << layout_.bits) - 1);
  }
  /// Magnitude bits of the largest finite number. e4m3 has no infinity: its NaN is all ones.
  std::uint64_t largest() const {
    if (type_ == TensorType::e4m3) return 0x7e;
    return (static_cast<std::uint64_t>(largest_field()) << fraction_bits_) | fraction_mask();
  }
  std::uint64_t infinity_or_nan(Random& random) const {
    const std::uint64_t s = sign(random.chance(0.5));
    if (type_ == TensorType::e4m3) return s | 0x7f;
    const std::uint64_t field = ((std::uint64_t{1} << layout_.exponent) - 1) << fraction_bits_;
    if (random.chance(0.6)) return s | field;
    // The top of the fraction: in tf32 the low bits of a NaN are not read.
    const std::uint64_t payload = random.next() & fraction_mask();
    return s | field | payload |
           std::uint64_t{1} << (fraction_bits_ - 1 - static_cast<int>(random.below(2)));
  }

 private:
  int largest_field() const {
    return (1 << layout_.exponent) - (type_ == TensorType::e4m3 ? 1 : 2);
  }
  std::uint64_t fraction_mask() const { return (std::uint64_t{1} << fraction_bits_) - 1; }

  TensorType type_;
  TensorTypeLayout layout_;
  int fraction_bits_ = 0;
  int bias_ = 0;
};

class FloatTile {
 public:
  FloatTile(std::uint64_t seed, OperandClass operands, const TileForm& form)
      : random_(seed, name(operands)),
        class_(operands),
        form_(form),
        a_(form.a),
        b_(form.b),
        c_(form.accumulator) {}

  TileOperands draw() {
    tile_.a.resize(form_.m * form_.k);
    tile_.b.resize(form_.n * form_.k);
    tile_.c.resize(form_.m * form_.n);
    level_ = between(-5, 8);
    for (std::uint64_t& x : tile_.a) x = element(a_);
    for (std::uint64_t& x : tile_.b) x = element(b_);
    for (std::uint64_t& x : tile_.c) x = accumulator();
    if (class_ == OperandClass::cancellation) cancel();
    if (class_ == OperandClass::aligned) align();
    if (class_ == OperandClass::zeros) clear_rows();
    return std::move(tile_);
  }

 private:
  int between(int low, int high) { return static_cast<int>(random_.between(low, high)); }

  std::uint64_t element(const FloatBits& type) {
    switch (class_) {
      case OperandClass::random_bits:
        return type.random_bits(random_);
      case OperandClass::ordinary:
      case OperandClass::cancellation:
      case OperandClass::aligned:
        return type.with_exponent(random_, between(-4, 1));
      case OperandClass::wide:
        return type.with_exponent(random_, between(type.bottom(), type.highest()));
      case OperandClass::subnormal:
        return random_.chance(0.7) ? type.subnormal(random_)
                                   : type.with_exponent(random_, type.lowest() + between(0, 3));
      case OperandClass::zeros:
        if (random_.chance(0.6)) return type.sign(random_.chance(0.5));
        return type.with_exponent(random_, between(bottom_of_factor(type), 2));
      case OperandClass::overflow:
        return type.with_exponent(random_,
                                  std::min(type.highest(), half_of_highest()) - between(0, 3));
      case OperandClass::underflow:
        return type.with_exponent(random_, bottom_of_factor(type) + level_ + between(-2, 2));
      case OperandClass::special:
        if (random_.chance(0.04)) return type.infinity_or_nan(random_);
        if (random_.chance(0.2)) return type.sign(random_.chance(0.5));
        return type.with_exponent(random_, between(-4, 3));
    }
    return 0;
  }

  std::uint64_t accumulator() {
    if (class_ != OperandClass::random_bits && random_.chance(0.15)) {
      return c_.sign(random_.chance(0.5));
    }
    switch (class_) {
      case OperandClass::random_bits:
        return c_.random_bits(random_);
      case OperandClass::ordinary:
        return c_.with_exponent(random_, between(-4, 5));
      case OperandClass::cancellation:
        return c_.with_exponent(random_, between(-26, 2));
      case OperandClass::aligned:
        return c_.with_exponent(random_, between(-28, 30));
      case OperandClass::wide:
        return c_.with_exponent(random_, between(c_.bottom(), c_.highest()));
      case OperandClass::subnormal:
        return random_.chance(0.5) ? c_.subnormal(random_)
                                   : c_.with_exponent(random_, lowest_product() + between(-30, 30));
      case OperandClass::zeros:
        return c_.with_exponent(random_, random_.chance(0.5) ? between(c_.bottom(), c_.lowest() + 8)
                                                             : between(c_.bottom(), 8));
      case OperandClass::overflow:
        return random_.chance(0.3) ? c_.sign(random_.chance(0.5)) | c_.largest()
                                   : c_.with_exponent(random_, c_.highest() - between(0, 3));
      case OperandClass::underflow:
        return random_.chance(0.5)
                   ? c_.subnormal(random_)
                   : c_.with_exponent(random_, between(c_.bottom() - 1, c_.lowest() + 12));
      case OperandClass::special:
        return random_.chance(0.06) ? c_.infinity_or_nan(random_)
                                    : c_.with_exponent(random_, between(-4, 5));
    }
    return 0;
  }

  // a[2i+1] = -a[2i], and b's pair is equal or a unit apart: what is left of two products is a unit
  // of one of them.
  void cancel() {
    for (std::size_t i = 0; i + 1 < tile_.a.size(); i += 2) {
      tile_.a[i + 1] = tile_.a[i] ^ a_.sign(true);
    }
    const std::uint64_t unit = form_.b == TensorType::tf32 ? std::uint64_t{1} << 13 : 1;
    for (std::size_t i = 0; i + 1 < tile_.b.size(); i += 2) {
      tile_.b[i + 1] = tile_.b[i] + (random_.chance(0.5) ? unit : 0);
    }
  }

  // One column of A is large and the others small, so that the small products' bits lie around the
  // place where terms are cut; where the type's range is too short, the accumulator is the large
  // term alone.
  void align() {
    const int distance = between(18, 30);
    const int up = std::min(distance / 2, a_.highest() - 1);
    const int down = std::min(distance - up, 4 - a_.bottom());
    for (std::size_t m = 0; m < form_.m; ++m) {
      const std::size_t large = random_.below(form_.k);
      const bool has_large = random_.chance(0.7);
      for (std::size_t k = 0; k < form_.k; ++k) {
        const int exponent = has_large && k == large ? up + between(-1, 1) : between(-1, 1) - down;
        tile_.a[m * form_.k + k] = a_.with_exponent(random_, exponent);
      }
    }
  }

  // Some rows of A have no product but zeros, others a single one.
  void clear_rows() {
    for (std::size_t m = 0; m < form_.m; ++m) {
      if (random_.chance(0.5)) continue;
      const bool keep_one = random_.chance(0.5);
      const std::size_t kept = random_.below(form_.k);
      for (std::size_t k = 0; k < form_.k; ++k) {
        if (keep_one && k == kept) continue;
        tile_.a[m * form_.k + k] = a_.sign(random_.chance(0.5));
      }
    }
  }

  int lowest_product() const { return a_.lowest() + b_.lowest(); }
  int half_of_highest() const { return (c_.highest() + 1) / 2; }
  /// Factors of this exponent have products near the smallest accumulator, or near the smallest
  /// product where those are larger.
  int bottom_of_factor(const FloatBits& type) const {
    return std::max(type.bottom(), (c_.bottom() - 4) / 2);
  }

  Random random_;
  OperandClass class_;
  const TileForm& form_;
  FloatBits a_;
  FloatBits b_;
  FloatBits c_;
  int level_ = 0;  ///< of a tile of `underflow`: above or below the smallest accumulator
  TileOperands tile_;
};

std::uint64_t integer_element(Random& random, OperandClass operands, TensorType type, bool is_a) {
  const TensorTypeLayout sizes = layout(type);
  const std::uint64_t mask = (std::uint64_t{1} << sizes.bits) - 1;
  const std::uint64_t smallest = sizes.is_signed ? std::uint64_t{1} << (sizes.bits - 1) : 0;
  const std::uint64_t largest = sizes.is_signed ? mask >> 1 : mask;
  switch (operands) {
    case OperandClass::zeros:
      return random.chance(0.6) ? 0 : random.next() & mask;
    case OperandClass::overflow:
      return random.chance(0.8) ? largest : smallest;
    case OperandClass::underflow:  // products of unlike signs
      return random.chance(0.8) != is_a ? largest : smallest;
    default:
      return random.next() & mask;
  }
}

std::uint64_t integer_accumulator(Random& random, OperandClass operands) {
  const auto distance = static_cast<std::uint32_t>(random.below(1U << 21));
  switch (operands) {
    case OperandClass::ordinary:
    case OperandClass::zeros:
      return static_cast<std::uint32_t>(random.between(-1000, 1000));
    case OperandClass::overflow:
      return 0x7fffffffU - distance;
    case OperandClass::underflow:
      return random.chance(0.8) ? 0x80000000U + distance : 0x7fffffffU - distance;
    default:
      return random.next() & 0xffffffffU;
  }
}

TileOperands draw_integers(std::uint64_t seed, OperandClass operands, const TileForm& form) {
  Random random(seed, name(operands));
  TileOperands tile;
  tile.a.resize(form.m * form.k);
  tile.b.resize(form.n * form.k);
  tile.c.resize(form.m * form.n);
  for (std::uint64_t& x : tile.a) x = integer_element(random, operands, form.a, true);
  for (std::uint64_t& x : tile.b) x = integer_element(random, operands, form.b, false);
  for (std::uint64_t& x : tile.c) x = integer_accumulator(random, operands);
  return tile;
}

}  // namespace

std::string_view name(OperandClass operands) {
  switch (operands) {
    case OperandClass::random_bits:
      return "random_bits";
    case OperandClass::ordinary:
      return "ordinary";
    case OperandClass::wide:
      return "wide";
    case OperandClass::aligned:
      return "aligned";
    case OperandClass::subnormal:
      return "subnormal";
    case OperandClass::cancellation:
      return "cancellation";
    case OperandClass::zeros:
      return "zeros";
    case OperandClass::overflow:
      return "overflow";
    case OperandClass::underflow:
      return "underflow";
    case OperandClass::special:
      return "special";
  }
  return "?";
}

TileOperands draw_tile(std::uint64_t seed, OperandClass operands, const TileForm& form) {
  if (!is_float(form.a)) return draw_integers(seed, operands, form);
  return FloatTile(seed, operands, form).draw();
}

}  // namespace bitgate::numeric
