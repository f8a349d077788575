#include <array>
#include <cstdint>
#include <cstring>

#include "reference/formats/gguf_blocks/decode.h"
#include "reference/formats/gguf_blocks/fields.h"

namespace bitgate::formats {
namespace {

/// u32 fifth bits (bit i for element i), then nibbles as in Q4_0.
std::array<int, 32> codes(const std::byte* high_bits) {
  std::uint32_t high = 0;
  std::memcpy(&high, high_bits, sizeof high);
  std::array<int, 32> q{};
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned pair = u8_at(high_bits + 4 + i);
    q[i] = static_cast<int>((pair & 15U) | ((high >> i) & 1U) << 4);
    q[16 + i] = static_cast<int>((pair >> 4) | ((high >> (16 + i)) & 1U) << 4);
  }
  return q;
}

}  // namespace

/// f16 d, codes: d * (q - 16).
void decode_q5_0(const std::byte* block, float* values) {
  const float d = f16_at(block);
  for (const int q : codes(block + 2)) *values++ = d * static_cast<float>(q - 16);
}

/// f16 d, f16 m, codes: d * q + m.
void decode_q5_1(const std::byte* block, float* values) {
  const float d = f16_at(block);
  const float m = f16_at(block + 2);
  for (const int q : codes(block + 4)) *values++ = d * static_cast<float>(q) + m;
}

}  // namespace bitgate::formats
