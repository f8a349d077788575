#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "reference/support/random.h"

namespace bitgate::suite {

/// Contents of a buffer that a launch file states by a seed: no file to carry, the same bytes on
/// every machine. Elements of `type` one after the other, uniform in [low, high]; integers may
/// reach both, floats are low + (high - low) · u rounded to nearest even, u a multiple of 2^-53 in
/// [0, 1). "bits" are raw bytes, every pattern as likely. Negative integers are two's complement.
struct RandomContents {
  std::uint64_t seed = 0;
  std::string type = "bits";  ///< bits, u8, s8, u16, s16, u32, s32, u64, s64, f16, bf16, f32, f64
  double low = 0;             ///< of floats
  double high = 1;
  std::int64_t least = 0;  ///< of integers
  std::int64_t most = 0;
};

/// A row a type: its size, and what it can hold.
struct RandomType {
  std::string_view name;
  std::size_t bytes;
  bool is_float;
  double greatest;     ///< of floats: the largest finite value
  std::int64_t least;  ///< of integers; 64-bit ones are kept to 62 bits and a sign
  std::int64_t most;
};
/// Null when there is no such type.
const RandomType* random_type(std::string_view name);

/// The contents, in parts of any size; the cuts do not change them.
class RandomStream {
 public:
  explicit RandomStream(const RandomContents& contents);
  void next(std::span<std::byte> out);

 private:
  std::uint64_t element();

  RandomContents contents_;
  const RandomType* type_;
  Random random_;
  std::uint64_t element_ = 0;
  std::size_t left_ = 0;  ///< bytes of element_ not yet given out
};

}  // namespace bitgate::suite
