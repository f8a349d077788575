#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reference/numeric/half.h"

namespace bitgate::formats {

/// Fields of a block, at any alignment.

inline float f16_at(const std::byte* at) {
  numeric::Half half;
  std::memcpy(&half.bits, at, sizeof half.bits);
  return numeric::to_float(half);
}

inline unsigned u8_at(const std::byte* at) { return std::to_integer<unsigned>(*at); }

inline int i8_at(const std::byte* at) {
  return static_cast<std::int8_t>(std::to_integer<std::uint8_t>(*at));
}

}  // namespace bitgate::formats
