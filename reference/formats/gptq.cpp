#include "reference/formats/gptq.h"

#include <cstddef>

#include "reference/formats/zero_range.h"

namespace bitgate::formats {
namespace {

constexpr std::int64_t kPerWord = 8;

/// Words along a row: element 8c+i of values into bits 4i..4i+3 of word c, less `bias`.
void pack_along_row(std::span<const std::uint8_t> values, std::uint8_t bias,
                    std::span<std::int32_t> words) {
  for (std::size_t c = 0; c < words.size(); ++c) {
    std::uint32_t word = 0;
    for (unsigned i = 0; i < kPerWord; ++i) {
      word |= static_cast<std::uint32_t>(values[kPerWord * c + i] - bias) << (4 * i);
    }
    words[c] = static_cast<std::int32_t>(word);
  }
}

void unpack_along_row(std::span<const std::int32_t> words, std::uint8_t bias,
                      std::span<std::uint8_t> values) {
  for (std::size_t c = 0; c < words.size(); ++c) {
    const auto word = static_cast<std::uint32_t>(words[c]);
    for (unsigned i = 0; i < kPerWord; ++i) {
      values[kPerWord * c + i] = static_cast<std::uint8_t>(((word >> (4 * i)) & 15U) + bias);
    }
  }
}

}  // namespace

void GptqWeights::pack(std::span<const std::uint8_t> q, std::int64_t k, std::int64_t n,
                       std::span<std::int32_t> words) {
  for (std::int64_t r = 0; r < k / kPerWord; ++r) {
    std::int32_t* const row_words = words.data() + r * n;
    for (std::int64_t c = 0; c < n; ++c) row_words[c] = 0;
    for (int i = 0; i < kPerWord; ++i) {
      const std::uint8_t* const row = q.data() + (kPerWord * r + i) * n;
      for (std::int64_t c = 0; c < n; ++c) {
        row_words[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(row_words[c]) |
                                                 static_cast<std::uint32_t>(row[c]) << (4 * i));
      }
    }
  }
}

void GptqWeights::unpack(std::span<const std::int32_t> words, std::int64_t k, std::int64_t n,
                         std::span<std::uint8_t> q) {
  for (std::int64_t row = 0; row < k; ++row) {
    const std::int32_t* const row_words = words.data() + row / kPerWord * n;
    const auto shift = static_cast<unsigned>(4 * (row % kPerWord));
    std::uint8_t* const out = q.data() + row * n;
    for (std::int64_t c = 0; c < n; ++c) {
      out[c] = static_cast<std::uint8_t>((static_cast<std::uint32_t>(row_words[c]) >> shift) & 15U);
    }
  }
}

void GptqV1Zeros::pack(std::span<const std::uint8_t> z, std::int64_t groups, std::int64_t n,
                       std::span<std::int32_t> words) {
  require_zero_range(z, n, "gptq_v1", kSmallest, kLargest);
  pack_along_row(z, 1, words.first(static_cast<std::size_t>(groups * n / kPerWord)));
}

void GptqV1Zeros::unpack(std::span<const std::int32_t> words, std::int64_t groups, std::int64_t n,
                         std::span<std::uint8_t> z) {
  unpack_along_row(words.first(static_cast<std::size_t>(groups * n / kPerWord)), 1, z);
}

void GptqV2Zeros::pack(std::span<const std::uint8_t> z, std::int64_t groups, std::int64_t n,
                       std::span<std::int32_t> words) {
  require_zero_range(z, n, "gptq_v2", kSmallest, kLargest);
  pack_along_row(z, 0, words.first(static_cast<std::size_t>(groups * n / kPerWord)));
}

void GptqV2Zeros::unpack(std::span<const std::int32_t> words, std::int64_t groups, std::int64_t n,
                         std::span<std::uint8_t> z) {
  unpack_along_row(words.first(static_cast<std::size_t>(groups * n / kPerWord)), 0, z);
}

}  // namespace bitgate::formats
