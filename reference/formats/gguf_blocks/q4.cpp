#include "reference/formats/gguf_blocks/decode.h"
#include "reference/formats/gguf_blocks/fields.h"

namespace bitgate::formats {

/// f16 d, u8 qs[16]; byte i holds element i in its low nibble and element 16+i in its high one:
/// d * (q - 8).
void decode_q4_0(const std::byte* block, float* values) {
  const float d = f16_at(block);
  for (int i = 0; i < 16; ++i) {
    const auto pair = static_cast<int>(u8_at(block + 2 + i));
    values[i] = d * static_cast<float>((pair & 15) - 8);
    values[16 + i] = d * static_cast<float>((pair >> 4) - 8);
  }
}

/// f16 d, f16 m, then nibbles as in Q4_0: d * q + m.
void decode_q4_1(const std::byte* block, float* values) {
  const float d = f16_at(block);
  const float m = f16_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    const unsigned pair = u8_at(block + 4 + i);
    values[i] = d * static_cast<float>(pair & 15U) + m;
    values[16 + i] = d * static_cast<float>(pair >> 4) + m;
  }
}

}  // namespace bitgate::formats
