#pragma once

#include <cstdint>
#include <span>

namespace bitgate::formats {

/// GPTQ's 4-bit weight layout, shared by v1 and v2: word [r][c] of qweight [k/8][n] holds rows
/// 8r..8r+7 of column c, row 8r+i in bits 4i..4i+3 (AutoGPTQ, qlinear_cuda.QuantLinear.pack).
struct GptqWeights {
  /// q [k][n] with values 0..15 into words [k/8][n]; k a multiple of 8.
  static void pack(std::span<const std::uint8_t> q, std::int64_t k, std::int64_t n,
                   std::span<std::int32_t> words);
  static void unpack(std::span<const std::int32_t> words, std::int64_t k, std::int64_t n,
                     std::span<std::uint8_t> q);
};

/// Zero points of GPTQ v1: qzeros [groups][n/8], column 8c+i in bits 4i..4i+3 of word c, holding
/// z-1. Values 1..16: a stored 15 reads as 16 (AutoGPTQ, qlinear_cuda). There is no code for 0,
/// and public writers that meet one destroy its neighbours, so `pack` refuses it.
struct GptqV1Zeros {
  static constexpr std::uint8_t kSmallest = 1;
  static constexpr std::uint8_t kLargest = 16;
  /// z [groups][n]; InputError naming group and column of a value outside 1..16.
  static void pack(std::span<const std::uint8_t> z, std::int64_t groups, std::int64_t n,
                   std::span<std::int32_t> words);
  static void unpack(std::span<const std::int32_t> words, std::int64_t groups, std::int64_t n,
                     std::span<std::uint8_t> z);
};

/// Zero points of GPTQ v2 (GPTQModel's checkpoint_format gptq_v2): the same words, holding z
/// itself, 0..15.
struct GptqV2Zeros {
  static constexpr std::uint8_t kSmallest = 0;
  static constexpr std::uint8_t kLargest = 15;
  static void pack(std::span<const std::uint8_t> z, std::int64_t groups, std::int64_t n,
                   std::span<std::int32_t> words);
  static void unpack(std::span<const std::int32_t> words, std::int64_t groups, std::int64_t n,
                     std::span<std::uint8_t> z);
};

}  // namespace bitgate::formats
