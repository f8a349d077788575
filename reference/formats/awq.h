#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace bitgate::formats {

/// Column of nibble i within a word of eight columns: nibble i (bits 4i..4i+3) of word c is column
/// 8c + kAwqOrder[i] (AutoAWQ, modules/linear/gemm.py).
inline constexpr std::array<int, 8> kAwqOrder = {0, 2, 4, 6, 1, 3, 5, 7};

/// AWQ's GEMM weight layout: qweight [k][n/8], packed along n in kAwqOrder. (Its GEMV and GEMVFast
/// layouts are others and not served.)
struct AwqWeights {
  /// q [k][n] with values 0..15 into words [k][n/8]; n a multiple of 8.
  static void pack(std::span<const std::uint8_t> q, std::int64_t k, std::int64_t n,
                   std::span<std::int32_t> words);
  static void unpack(std::span<const std::int32_t> words, std::int64_t k, std::int64_t n,
                     std::span<std::uint8_t> q);
};

/// AWQ's zero points: qzeros [groups][n/8] in the same order, holding z itself, 0..15.
struct AwqZeros {
  static constexpr std::uint8_t kSmallest = 0;
  static constexpr std::uint8_t kLargest = 15;
  /// z [groups][n]; InputError naming group and column of a value outside 0..15.
  static void pack(std::span<const std::uint8_t> z, std::int64_t groups, std::int64_t n,
                   std::span<std::int32_t> words);
  static void unpack(std::span<const std::int32_t> words, std::int64_t groups, std::int64_t n,
                     std::span<std::uint8_t> z);
};

}  // namespace bitgate::formats
