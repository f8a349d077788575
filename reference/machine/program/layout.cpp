#include "reference/machine/program/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "reference/support/error.h"

namespace bitgate::machine {

std::optional<std::uint32_t> type_bytes(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::uint32_t>, 24> kTypes{{
      {"b8", 1},    {"u8", 1},     {"s8", 1},   {"b16", 2},   {"u16", 2},    {"s16", 2},
      {"f16", 2},   {"bf16", 2},   {"b32", 4},  {"u32", 4},   {"s32", 4},    {"f32", 4},
      {"f16x2", 4}, {"bf16x2", 4}, {"tf32", 4}, {"u16x2", 4}, {"s16x2", 4},  {"b64", 8},
      {"u64", 8},   {"s64", 8},    {"f64", 8},  {"b128", 16}, {"e4m3x2", 2}, {"e5m2x2", 2},
  }};
  for (const auto& [name, bytes] : kTypes) {
    if (name == type) return bytes;
  }
  return std::nullopt;
}

Kind register_kind(std::string_view type) {
  if (type == "pred") return Kind::predicate;
  const auto bytes = type_bytes(type);
  if (!bytes) return Kind::none;
  return *bytes == 16 ? Kind::b128 : *bytes == 8 ? Kind::b64 : Kind::b32;
}

Extent extent_of(const ptx::Variable& variable) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 40;
  // Opaque types (.texref and the like) hold a handle.
  const std::uint64_t element = type_bytes(variable.type).value_or(8);
  std::uint64_t bytes = element * std::max<std::uint32_t>(variable.vector_width, 1);
  std::uint64_t alignment = std::max<std::uint64_t>(variable.alignment, bytes);
  if (variable.alignment != 0) alignment = variable.alignment;
  for (const std::uint64_t dimension : variable.dimensions) {
    if (dimension != 0 && bytes > kLimit / dimension) {
      throw InputError(fmt::format("line {}: variable '{}' is larger than 2^40 bytes",
                                   variable.ptx_line, variable.name));
    }
    bytes *= dimension;
  }
  bytes = std::max<std::uint64_t>(bytes, variable.initial.size());
  if (bytes > kLimit) {
    throw InputError(fmt::format("line {}: variable '{}' is larger than 2^40 bytes",
                                 variable.ptx_line, variable.name));
  }
  return {bytes, alignment};
}

}  // namespace bitgate::machine
