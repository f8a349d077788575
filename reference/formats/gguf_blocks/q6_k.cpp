#include "reference/formats/gguf_blocks/decode.h"
#include "reference/formats/gguf_blocks/fields.h"

namespace bitgate::formats {

/// u8 ql[128], u8 qh[64], i8 scales[16], f16 d. In each half of 128 elements, quarter r (32
/// elements) has its low nibbles in ql[64·half + 32·(r%2) + i], low nibble for r < 2, and its two
/// high bits at bits 2r of qh[32·half + i]. (d * scale) * (q - 32), in this order: 25 bits, so it
/// may round.
void decode_q6_k(const std::byte* block, float* values) {
  const std::byte* const ql = block;
  const std::byte* const qh = block + 128;
  const std::byte* const scales = block + 192;
  const float d = f16_at(block + 208);
  for (int element = 0; element < 256; ++element) {
    const int half = element / 128;
    const int quarter = element % 128 / 32;
    const int i = element % 32;
    const unsigned byte = u8_at(ql + 64 * half + 32 * (quarter % 2) + i);
    const unsigned low = quarter < 2 ? byte & 15U : byte >> 4;
    const unsigned high = (u8_at(qh + 32 * half + i) >> (2 * quarter)) & 3U;
    const float scale = d * static_cast<float>(i8_at(scales + element / 16));
    values[element] = scale * static_cast<float>(static_cast<int>(low | high << 4) - 32);
  }
}

}  // namespace bitgate::formats
