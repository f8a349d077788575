#pragma once

#include <cstdint>

namespace bitgate::machine {

/// Windows of the other state spaces in the generic address space (PTX ISA, "Generic Addressing"):
/// a generic address inside a window is the space's own address plus the window's base. Global
/// allocations start far above (memory/global_memory.cpp).
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 40;
inline constexpr std::uint64_t kConstantWindow = std::uint64_t{3} << 40;
inline constexpr std::uint64_t kParameterWindow = std::uint64_t{4} << 40;
/// Where functions have their addresses; nothing can be read or written there.
inline constexpr std::uint64_t kCodeWindow = std::uint64_t{5} << 40;
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 40;

enum class Space : std::uint8_t { generic, global, shared, local, constant, parameter };

constexpr const char* name(Space space) {
  switch (space) {
    case Space::generic:
      return "generic";
    case Space::global:
      return "global";
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    case Space::constant:
      return "const";
    case Space::parameter:
      return "param";
  }
  return "?";
}

/// The space that a generic address lies in.
constexpr Space space_of(std::uint64_t generic) {
  switch (generic / kWindowBytes) {
    case 1:
      return Space::shared;
    case 2:
      return Space::local;
    case 3:
      return Space::constant;
    case 4:
      return Space::parameter;
    default:
      return Space::global;
  }
}

constexpr std::uint64_t window_of(Space space) {
  switch (space) {
    case Space::shared:
      return kSharedWindow;
    case Space::local:
      return kLocalWindow;
    case Space::constant:
      return kConstantWindow;
    case Space::parameter:
      return kParameterWindow;
    case Space::generic:
    case Space::global:
      break;
  }
  return 0;
}

}  // namespace bitgate::machine
