#include "reference/formats/gguf_blocks/decode.h"
#include "reference/formats/gguf_blocks/fields.h"

namespace bitgate::formats {
namespace {

struct ScaleAndMinimum {
  float scale;
  float minimum;
};

/// The head that both types share: f16 d, f16 dmin, u8 packed[12] with a 6-bit scale and a 6-bit
/// minimum for each 32 elements. The first four lie in the low six bits of bytes 0..3 and 4..7; the
/// last four have their low nibbles in bytes 8..11 and their high bits in the top of bytes 0..7.
ScaleAndMinimum scale_of(const std::byte* block, int sub) {
  const std::byte* const packed = block + 4;
  unsigned scale = 0;
  unsigned minimum = 0;
  if (sub < 4) {
    scale = u8_at(packed + sub) & 63U;
    minimum = u8_at(packed + 4 + sub) & 63U;
  } else {
    const unsigned low = u8_at(packed + 4 + sub);
    scale = (low & 15U) | (u8_at(packed + sub - 4) >> 6) << 4;
    minimum = (low >> 4) | (u8_at(packed + sub) >> 6) << 4;
  }
  return {f16_at(block) * static_cast<float>(scale),
          f16_at(block + 2) * static_cast<float>(minimum)};
}

/// Nibbles: 64 elements in 32 bytes, the first 32 in the low nibbles.
unsigned nibble(const std::byte* qs, int element) {
  const unsigned byte = u8_at(qs + 32 * (element / 64) + element % 32);
  return element % 64 < 32 ? byte & 15U : byte >> 4;
}

}  // namespace

/// Head, u8 qs[128]: (d * scale) * q - dmin * minimum.
void decode_q4_k(const std::byte* block, float* values) {
  for (int sub = 0; sub < 8; ++sub) {
    const auto [scale, minimum] = scale_of(block, sub);
    for (int element = 32 * sub; element < 32 * (sub + 1); ++element) {
      values[element] = scale * static_cast<float>(nibble(block + 16, element)) - minimum;
    }
  }
}

/// Head, u8 qh[32] (bit e/32 of byte e%32 is the fifth bit of element e), u8 qs[128].
void decode_q5_k(const std::byte* block, float* values) {
  for (int sub = 0; sub < 8; ++sub) {
    const auto [scale, minimum] = scale_of(block, sub);
    for (int element = 32 * sub; element < 32 * (sub + 1); ++element) {
      const unsigned high = (u8_at(block + 16 + element % 32) >> sub) & 1U;
      const unsigned q = nibble(block + 48, element) | high << 4;
      values[element] = scale * static_cast<float>(q) - minimum;
    }
  }
}

}  // namespace bitgate::formats
