#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/numeric/tensor_type.h"

namespace bitgate::numeric {

/// How the operands of one matrix instruction are drawn: each class stresses another part of the
/// rule in tensor_core.h.
enum class OperandClass : std::uint8_t {
  random_bits,   ///< every bit pattern, NaN and infinity as they come
  ordinary,      ///< of magnitudes up to 4, as in a kernel
  wide,          ///< exponents over the whole of each type's range
  aligned,       ///< one large term in a row of A, the rest 20 to 28 bits below it or in between
  subnormal,     ///< subnormals and the smallest normal numbers, in all three operands
  cancellation,  ///< neighbours in k cancel but for a unit in the last place
  zeros,         ///< many zeros of both signs, whole rows of them, with accumulators at the bottom
  overflow,      ///< sums around the largest number of the accumulator's type
  underflow,     ///< sums, negative ones too, around the smallest
  special        ///< a few NaN, infinities, zeros among ordinary numbers
};

inline constexpr std::array kOperandClasses{OperandClass::random_bits, OperandClass::ordinary,
                                            OperandClass::wide,        OperandClass::aligned,
                                            OperandClass::subnormal,   OperandClass::cancellation,
                                            OperandClass::zeros,       OperandClass::overflow,
                                            OperandClass::underflow,   OperandClass::special};

std::string_view name(OperandClass operands);

/// Shape and types of D = A·B + C.
struct TileForm {
  std::size_t m = 16;
  std::size_t n = 8;
  std::size_t k = 16;
  TensorType a = TensorType::f16;
  TensorType b = TensorType::f16;
  TensorType accumulator = TensorType::f32;  ///< f16, f32, f64 or s32
};

/// Bits of the elements, one in each number: a row-major (m, k), b (n, k), c (m, n).
struct TileOperands {
  std::vector<std::uint64_t> a;
  std::vector<std::uint64_t> b;
  std::vector<std::uint64_t> c;
};

/// The same seed, class and form give the same operands on every machine and compiler: recorded
/// vectors keep the seed alone. Integers know four classes (the ends of their range are drawn for
/// `overflow` and `underflow`, where accumulators saturate); the others are as `random_bits`.
TileOperands draw_tile(std::uint64_t seed, OperandClass operands, const TileForm& form);

}  // namespace bitgate::numeric
