#pragma once

#include <cstdint>
#include <string_view>

namespace bitgate {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a counter hashed by a bijection. The same seed
/// gives the same numbers on every machine and compiler, which std:: distributions do not promise.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}
  /// An independent stream for a named purpose, so that adding one draws nothing from another.
  constexpr Random(std::uint64_t seed, std::string_view purpose) : state_(seed) {
    for (const char c : purpose) state_ = mix(state_ ^ static_cast<unsigned char>(c));
  }

  constexpr std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }
  /// Uniform in [0, bound); bound > 0. By multiplication (Lemire), bias below 2^-32 for 32-bit
  /// bounds.
  constexpr std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }
  /// Uniform in [low, high], both included.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  /// Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  constexpr bool chance(double probability) { return uniform() < probability; }

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace bitgate
