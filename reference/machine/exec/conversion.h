#pragma once

#include <cstdint>
#include <string_view>

#include "reference/machine/exec/rounding.h"

namespace bitgate::machine {

/// One value of any type into any other, by exact integer arithmetic (PTX ISA 9.7.9.21, cvt): the
/// semantics of every row of convert.cpp. The rows that kernels execute most have a vector form
/// there; a test compares the two.

enum class Format : std::uint8_t {
  u8,
  s8,
  u16,
  s16,
  u32,
  s32,
  u64,
  s64,
  e4m3,
  e5m2,
  f16,
  bf16,
  tf32,  ///< in the upper 19 bits of 32
  f32,
  f64
};
constexpr std::uint32_t kFormats = 15;

std::string_view name(Format format);
/// Of a register that holds a value: 1, 2, 4 or 8.
std::uint32_t bytes(Format format);
constexpr bool is_integer(Format format) { return format <= Format::s64; }
constexpr bool is_signed(Format format) {
  return !is_integer(format) || (static_cast<unsigned>(format) & 1U) != 0;
}

struct Conversion {
  Format to = Format::f32;
  Format from = Format::f32;
  Rounding rounding = Rounding::rz;
  enum Flags : std::uint8_t {
    integral = 1,   ///< .rni, .rzi, .rmi, .rpi: rounded to an integer in a float's format
    flush = 2,      ///< .ftz: f32 subnormals are zeros, read and written
    saturate = 4,   ///< .sat: integers to the range of their type, floats to [0, 1]
    relu = 8,       ///< negative results are +0
    satfinite = 16  ///< what would be infinite is the largest finite number
  };
  std::uint8_t flags = 0;
  /// For handlers: bytes of the destination's register; pairs of elements in sources and result.
  std::uint8_t destination_bytes = 0;
  std::uint8_t source_bytes = 0;
  enum Shape : std::uint8_t {
    single,
    packs,  ///< two sources, the first into the upper element
    pairs   ///< one source of two elements
  };
  Shape shape = single;
  std::uint8_t unused = 0;

  constexpr bool has(Flags flag) const { return (flags & flag) != 0; }
};

/// The result lies in the low bits; integers are extended by their sign to 64 bits.
///
/// NaN (measured on an H200): f32, f16, bf16 and fp8 results are canonical (0x7fffffff, 0x7fff,
/// 0x7f) but for conversions from and to f64, which keep sign and payload and set the quiet bit;
/// bf16 to f32, which shifts the bits; and f32 to f32 and f64 to f64 without modifiers, which move
/// them. .sat makes +0 of a NaN, .relu keeps it. To integers of 32 bits or fewer a NaN of f32, f16
/// or bf16 is 0, of f64 the top bit alone, unsigned types too; to 64 bits it is always the top bit.
/// cvt.rna.tf32 adds half a unit to the bits of a number and drops the low ones; of a NaN it drops
/// them only, and with .satfinite one unit more.
///
/// .ftz changes nothing in cvt.f16.f32: an f32 subnormal rounds up or down like any other number.
std::uint64_t convert(const Conversion& conversion, std::uint64_t bits);

}  // namespace bitgate::machine
