#include "reference/numeric/half.h"

#include <immintrin.h>

namespace bitgate::numeric {
namespace {

struct Layout {
  int fraction_bits;
  int min_exponent;  // of the smallest normal number
  int max_exponent;
};
constexpr Layout kHalf{10, -14, 15};
constexpr Layout kBFloat16{7, -126, 127};
constexpr std::uint16_t kCanonicalNan = 0x7fff;

// On the integer significand, so that the CPU's rounding mode plays no part.
constexpr std::uint16_t encode(double value, Layout layout) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 63) << 15;
  const int field = static_cast<int>((bits >> 52) & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const auto infinity = static_cast<std::uint32_t>(layout.max_exponent - layout.min_exponent + 2)
                        << layout.fraction_bits;
  if (field == 0x7ff && fraction != 0) return kCanonicalNan;
  const int exponent = field - 1023;
  if (exponent > layout.max_exponent) return static_cast<std::uint16_t>(sign | infinity);
  // An f64 subnormal is far below half of either type's smallest subnormal.
  if (field == 0) return static_cast<std::uint16_t>(sign);

  const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
  const int unit_exponent = exponent < layout.min_exponent ? layout.min_exponent : exponent;
  const int shift = 52 - layout.fraction_bits + (unit_exponent - exponent);
  if (shift > 53) return static_cast<std::uint16_t>(sign);  // below half a unit
  std::uint64_t rounded = significand >> shift;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // Adding instead of or-ing lets a carry run into the exponent, up to infinity.
  const auto magnitude =
      (static_cast<std::uint32_t>(unit_exponent - layout.min_exponent) << layout.fraction_bits) +
      static_cast<std::uint32_t>(rounded);
  return static_cast<std::uint16_t>(sign | magnitude);
}

}  // namespace

Half to_half(double value) { return Half{encode(value, kHalf)}; }

BFloat16 to_bfloat16(double value) { return BFloat16{encode(value, kBFloat16)}; }

float to_float(ScalarType type, std::uint16_t bits) {
  return type == ScalarType::bf16 ? to_float(BFloat16{bits}) : to_float(Half{bits});
}

void to_float(ScalarType type, const std::uint16_t* bits, std::size_t count, float* out) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bits + i));
    const __m256 eight =
        type == ScalarType::bf16
            ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16))
            : _mm256_cvtph_ps(raw);
    _mm256_storeu_ps(out + i, eight);
  }
  for (; i < count; ++i) out[i] = to_float(type, bits[i]);
}

std::uint16_t round_to(ScalarType type, double value) {
  return encode(value, type == ScalarType::bf16 ? kBFloat16 : kHalf);
}

}  // namespace bitgate::numeric
