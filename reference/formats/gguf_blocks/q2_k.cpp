#include "reference/formats/gguf_blocks/decode.h"
#include "reference/formats/gguf_blocks/fields.h"

namespace bitgate::formats {

/// u8 scales[16] (low nibble scale, high nibble minimum of 16 elements each), u8 qs[64], f16 d,
/// f16 dmin. Element e of half h lies in byte 32h + e%32 of qs, at bits 2(e/32).
/// (d * scale) * q - dmin * minimum.
void decode_q2_k(const std::byte* block, float* values) {
  const std::byte* const scales = block;
  const std::byte* const qs = block + 16;
  const float d = f16_at(block + 80);
  const float dmin = f16_at(block + 82);
  for (int sub = 0; sub < 16; ++sub) {
    const unsigned packed = u8_at(scales + sub);
    const float scale = d * static_cast<float>(packed & 15U);
    const float minimum = dmin * static_cast<float>(packed >> 4);
    for (int i = 0; i < 16; ++i) {
      const int element = 16 * sub + i;
      const unsigned byte = u8_at(qs + 32 * (element / 128) + element % 32);
      const unsigned q = (byte >> (2 * (element % 128 / 32))) & 3U;
      values[element] = scale * static_cast<float>(q) - minimum;
    }
  }
}

}  // namespace bitgate::formats
