#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "reference/machine/program/code.h"
#include "reference/machine/ptx/ast.h"

namespace bitgate::machine {

/// Bytes of a fundamental type (".f16x2" counts as 32 bits); nothing for .pred and unknown ones.
std::optional<std::uint32_t> type_bytes(std::string_view type);

/// What a register of the type occupies; Kind::none for types the machine has no registers of.
Kind register_kind(std::string_view type);

/// Bytes and alignment of a declared variable. InputError when its size overflows 2^40 bytes.
struct Extent {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
};
Extent extent_of(const ptx::Variable& variable);

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace bitgate::machine
