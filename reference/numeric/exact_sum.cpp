#include "reference/numeric/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/numeric/half.h"
#include "reference/support/error.h"

namespace bitgate::numeric {
namespace {

constexpr int kF64SignificandBits = 53;
constexpr int kLongerThanF64 = 63;

}  // namespace

void ExactSum::add_product(float a, float b) {
  if (!std::isfinite(a) || !std::isfinite(b)) {
    throw InputError("an exact sum takes finite numbers, found an infinity or a NaN");
  }
  // 24 + 24 bits fit a double, and the product's exponent is within its range: exact.
  const double product = static_cast<double>(a) * static_cast<double>(b);
  if (product == 0) return;
  const auto bits = std::bit_cast<std::uint64_t>(product);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  std::uint64_t significand = (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  int position = exponent - 52 - kLastBit;
  if (position < 0) {
    // What lies below the last bit is zero: a product of two f32 is a multiple of 2^-298.
    significand >>= -position;
    position = 0;
  }
  const auto limb = static_cast<std::size_t>(position / 64);
  const int offset = position % 64;
  const std::uint64_t low = significand << offset;
  const std::uint64_t high = offset == 0 ? 0 : significand >> (64 - offset);

  const bool negative = (bits >> 63) != 0;
  std::uint64_t carry = 0;
  for (std::size_t i = limb; i < limbs_.size(); ++i) {
    const std::uint64_t term = i == limb ? low : i == limb + 1 ? high : 0;
    if (i > limb + 1 && carry == 0) break;
    const std::uint64_t before = limbs_[i];
    if (negative) {
      const std::uint64_t partial = before - term;
      limbs_[i] = partial - carry;
      carry =
          static_cast<std::uint64_t>(before < term) | static_cast<std::uint64_t>(partial < carry);
    } else {
      const std::uint64_t partial = before + term;
      limbs_[i] = partial + carry;
      carry = static_cast<std::uint64_t>(partial < before) |
              static_cast<std::uint64_t>(limbs_[i] < partial);
    }
  }
}

bool ExactSum::is_zero() const {
  return std::all_of(limbs_.begin(), limbs_.end(), [](std::uint64_t limb) { return limb == 0; });
}

double ExactSum::rounded_to_odd(int bits) const {
  auto magnitude = limbs_;
  const bool negative = (magnitude.back() >> 63) != 0;
  if (negative) {
    std::uint64_t carry = 1;
    for (auto& limb : magnitude) {
      limb = ~limb + carry;
      carry = static_cast<std::uint64_t>(carry != 0 && limb == 0);
    }
  }
  int top = kLimbs - 1;
  while (top >= 0 && magnitude[static_cast<std::size_t>(top)] == 0) --top;
  if (top < 0) return 0.0;
  const int width =
      64 * top + static_cast<int>(std::bit_width(magnitude[static_cast<std::size_t>(top)]));
  const int cut = std::max(width - bits, 0);
  std::uint64_t significand = 0;
  bool sticky = false;
  for (int i = 0; i <= top; ++i) {
    const std::uint64_t limb = magnitude[static_cast<std::size_t>(i)];
    const int below = cut - 64 * i;  // bits of this limb that are cut off
    if (below >= 64) {
      sticky = sticky || limb != 0;
    } else if (below >= 0) {
      sticky = sticky || (limb & ((std::uint64_t{1} << below) - 1)) != 0;
      significand |= limb >> below;
    } else {
      significand |= limb << -below;
    }
  }
  if (sticky) significand |= 1;
  const double value = std::ldexp(static_cast<double>(significand), cut + kLastBit);
  return negative ? -value : value;
}

// The cast of the 63-bit integer inside rounds to nearest even: the one rounding.
double ExactSum::to_double() const { return rounded_to_odd(kLongerThanF64); }

float ExactSum::to_float() const { return static_cast<float>(rounded_to_odd(kF64SignificandBits)); }

std::uint16_t ExactSum::round_to(ScalarType type) const {
  return numeric::round_to(type, rounded_to_odd(kF64SignificandBits));
}

}  // namespace bitgate::numeric
