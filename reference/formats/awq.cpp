#include "reference/formats/awq.h"

#include <cstddef>

#include "reference/formats/zero_range.h"

namespace bitgate::formats {

void AwqWeights::pack(std::span<const std::uint8_t> q, std::int64_t k, std::int64_t n,
                      std::span<std::int32_t> words) {
  const auto count = static_cast<std::size_t>(k * (n / 8));
  for (std::size_t w = 0; w < count; ++w) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const auto column = static_cast<std::size_t>(kAwqOrder[i]);
      word |= static_cast<std::uint32_t>(q[8 * w + column]) << (4 * i);
    }
    words[w] = static_cast<std::int32_t>(word);
  }
}

void AwqWeights::unpack(std::span<const std::int32_t> words, std::int64_t k, std::int64_t n,
                        std::span<std::uint8_t> q) {
  const auto count = static_cast<std::size_t>(k * (n / 8));
  for (std::size_t w = 0; w < count; ++w) {
    const auto word = static_cast<std::uint32_t>(words[w]);
    for (std::size_t i = 0; i < 8; ++i) {
      const auto column = static_cast<std::size_t>(kAwqOrder[i]);
      q[8 * w + column] = static_cast<std::uint8_t>((word >> (4 * i)) & 15U);
    }
  }
}

void AwqZeros::pack(std::span<const std::uint8_t> z, std::int64_t groups, std::int64_t n,
                    std::span<std::int32_t> words) {
  require_zero_range(z, n, "awq", kSmallest, kLargest);
  AwqWeights::pack(z, groups, n, words);
}

void AwqZeros::unpack(std::span<const std::int32_t> words, std::int64_t groups, std::int64_t n,
                      std::span<std::uint8_t> z) {
  AwqWeights::unpack(words, groups, n, z);
}

}  // namespace bitgate::formats
