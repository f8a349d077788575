#include "reference/formats/gguf_blocks/decode.h"
#include "reference/formats/gguf_blocks/fields.h"

namespace bitgate::formats {
namespace {

/// Scale of 16 elements: four low bits in a nibble of bytes 0..7, two high bits in bytes 8..11.
int scale_of(const std::byte* scales, int sub) {
  const unsigned nibbles = u8_at(scales + sub % 8);
  const unsigned low = sub < 8 ? nibbles & 15U : nibbles >> 4;
  const unsigned high = (u8_at(scales + 8 + sub % 4) >> (2 * (sub / 4))) & 3U;
  return static_cast<int>(low | high << 4) - 32;
}

}  // namespace

/// u8 hmask[32], u8 qs[64], u8 scales[12], f16 d. Two bits of a code lie as in Q2_K; bit e/32 of
/// hmask[e%32] is its third, and 4 is subtracted where it is *not* set. (d * scale) * q.
void decode_q3_k(const std::byte* block, float* values) {
  const std::byte* const hmask = block;
  const std::byte* const qs = block + 32;
  const std::byte* const scales = block + 96;
  const float d = f16_at(block + 108);
  for (int sub = 0; sub < 16; ++sub) {
    const float scale = d * static_cast<float>(scale_of(scales, sub));
    for (int i = 0; i < 16; ++i) {
      const int element = 16 * sub + i;
      const unsigned byte = u8_at(qs + 32 * (element / 128) + element % 32);
      const auto low = static_cast<int>((byte >> (2 * (element % 128 / 32))) & 3U);
      const bool high = ((u8_at(hmask + element % 32) >> (element / 32)) & 1U) != 0;
      values[element] = scale * static_cast<float>(high ? low : low - 4);
    }
  }
}

}  // namespace bitgate::formats
