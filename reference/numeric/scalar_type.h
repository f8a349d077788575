#pragma once

#include <cstddef>
#include <string_view>

namespace bitgate::numeric {

/// The element types of activations, scales and outputs.
enum class ScalarType { f16, bf16, f32 };

constexpr std::string_view name(ScalarType type) {
  switch (type) {
    case ScalarType::f16:
      return "f16";
    case ScalarType::bf16:
      return "bf16";
    case ScalarType::f32:
      return "f32";
  }
  return "?";
}

constexpr std::size_t size_of(ScalarType type) { return type == ScalarType::f32 ? 4 : 2; }

}  // namespace bitgate::numeric
