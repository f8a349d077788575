#pragma once

#include <cstdint>
#include <string_view>

namespace bitgate::numeric {

/// Element types of a tensor-core instruction's operands (PTX ISA, "Warp Level Matrix
/// Multiply-Accumulate Instructions"). An element's bits lie in the low `bits` of an integer; tf32
/// occupies 32 bits, of which the low 13 are not read.
enum class TensorType : std::uint8_t {
  f16,
  bf16,
  tf32,
  e4m3,
  e5m2,
  f32,
  f64,
  s8,
  u8,
  s4,
  u4,
  b1,
  s32
};

/// Sizes in bits. `fraction` is 0 for integers.
struct TensorTypeLayout {
  std::string_view name;
  int bits;
  int exponent;
  int fraction;
  bool is_signed;  ///< integers
};

constexpr TensorTypeLayout layout(TensorType type) {
  switch (type) {
    case TensorType::f16:
      return {"f16", 16, 5, 10, true};
    case TensorType::bf16:
      return {"bf16", 16, 8, 7, true};
    case TensorType::tf32:
      return {"tf32", 32, 8, 10, true};
    case TensorType::e4m3:
      return {"e4m3", 8, 4, 3, true};
    case TensorType::e5m2:
      return {"e5m2", 8, 5, 2, true};
    case TensorType::f32:
      return {"f32", 32, 8, 23, true};
    case TensorType::f64:
      return {"f64", 64, 11, 52, true};
    case TensorType::s8:
      return {"s8", 8, 0, 0, true};
    case TensorType::u8:
      return {"u8", 8, 0, 0, false};
    case TensorType::s4:
      return {"s4", 4, 0, 0, true};
    case TensorType::u4:
      return {"u4", 4, 0, 0, false};
    case TensorType::b1:
      return {"b1", 1, 0, 0, false};
    case TensorType::s32:
      return {"s32", 32, 0, 0, true};
  }
  return {"?", 0, 0, 0, false};
}

constexpr std::string_view name(TensorType type) { return layout(type).name; }
constexpr bool is_float(TensorType type) { return layout(type).exponent != 0; }

}  // namespace bitgate::numeric
