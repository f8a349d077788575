#include "reference/formats/wrong_readings.h"

#include <cstddef>

namespace bitgate::formats {
namespace {

std::vector<std::uint8_t> nibbles(std::span<const std::int32_t> words, std::uint32_t word_bias,
                                  std::uint32_t nibble_bias) {
  std::vector<std::uint8_t> values;
  values.reserve(8 * words.size());
  for (const std::int32_t stored : words) {
    const std::uint32_t word = static_cast<std::uint32_t>(stored) + word_bias;
    for (unsigned i = 0; i < 8; ++i) {
      values.push_back(static_cast<std::uint8_t>(((word >> (4 * i)) + nibble_bias) & 15U));
    }
  }
  return values;
}

}  // namespace

std::vector<std::uint8_t> wrong_v1_zeros_wrap(std::span<const std::int32_t> qzeros) {
  return nibbles(qzeros, 0, 1);
}

std::vector<std::uint8_t> wrong_v1_zeros_carry(std::span<const std::int32_t> qzeros) {
  return nibbles(qzeros, 0x11111111U, 0);
}

}  // namespace bitgate::formats
