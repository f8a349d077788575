#include "reference/formats/gguf_blocks/decode.h"
#include "reference/formats/gguf_blocks/fields.h"

namespace bitgate::formats {

/// f16 d, i8 q[32]: d * q.
void decode_q8_0(const std::byte* block, float* values) {
  const float d = f16_at(block);
  for (int i = 0; i < 32; ++i) values[i] = d * static_cast<float>(i8_at(block + 2 + i));
}

}  // namespace bitgate::formats
