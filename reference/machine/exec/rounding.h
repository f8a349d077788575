#pragma once

#include <immintrin.h>

#include <cstdint>

namespace bitgate::machine {

/// Rounding of a floating-point operation: to nearest even, toward zero, down, up; and to nearest
/// with ties away from zero, which only cvt has.
enum class Rounding : std::uint8_t { rn, rz, rm, rp, rna };

constexpr const char* name(Rounding rounding) {
  switch (rounding) {
    case Rounding::rn:
      return "rn";
    case Rounding::rz:
      return "rz";
    case Rounding::rm:
      return "rm";
    case Rounding::rp:
      return "rp";
    case Rounding::rna:
      return "rna";
  }
  return "?";
}

/// Sets the CPU's rounding for the operations between construction and destruction, which must read
/// their operands from memory and write their results there: the compiler knows nothing of rounding
/// modes, but it cannot move memory accesses across the barriers. The CPU has no rna.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : saved_(_mm_getcsr()) {
    constexpr unsigned kMask = 0x6000;
    constexpr unsigned kModes[] = {0x0000, 0x6000, 0x2000, 0x4000, 0x0000};
    _mm_setcsr((saved_ & ~kMask) | kModes[static_cast<unsigned>(rounding)]);
    asm volatile("" ::: "memory");
  }
  ~RoundingScope() {
    asm volatile("" ::: "memory");
    _mm_setcsr(saved_);
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  unsigned saved_;
};

}  // namespace bitgate::machine
