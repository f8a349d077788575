#pragma once

#include <cstdint>
#include <string_view>

#include "reference/machine/ptx/ast.h"

namespace bitgate::machine::ptx {

/// Bytes of a fundamental or packed type as it lies in memory ("u8" 1, "f16x2" 4, "b128" 16;
/// PTX ISA, "Types"). 0 for "pred", the opaque types and words that are no type.
std::uint32_t type_bytes(std::string_view type);

/// Bytes of the whole variable: type × vector width × dimensions (a [] counts as 0). Parsed
/// variables stay below 2^48.
std::uint64_t variable_bytes(const Variable& variable);

/// True for "u8", "pred", "texref", …
bool is_type(std::string_view word);

/// "global", "const", "shared", …; empty for StateSpace::none.
std::string_view space_name(StateSpace space);
/// The space of the directive without its dot; StateSpace::none when it is not one.
StateSpace space_of(std::string_view word);

/// True for the predefined special registers: "%tid.x", "%laneid", "%clock64", "%envreg3", …
bool is_special_register(std::string_view name);

}  // namespace bitgate::machine::ptx
