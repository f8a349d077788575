#include <cstring>

#include "reference/formats/gguf_blocks/decode.h"
#include "reference/formats/gguf_blocks/fields.h"

namespace bitgate::formats {

void decode_f32(const std::byte* block, float* values) {
  std::memcpy(values, block, sizeof(float));
}

void decode_f16(const std::byte* block, float* values) { values[0] = f16_at(block); }

}  // namespace bitgate::formats
