#include "reference/machine/ptx/types.h"

#include <algorithm>
#include <array>

namespace bitgate::machine::ptx {

namespace {

struct TypeRow {
  std::string_view name;
  std::uint32_t bytes;
};
constexpr TypeRow kTypes[] = {
    {"b32", 4},    {"u32", 4},    {"s32", 4},    {"f32", 4},        {"b64", 8},     {"u64", 8},
    {"s64", 8},    {"f64", 8},    {"b16", 2},    {"u16", 2},        {"s16", 2},     {"f16", 2},
    {"bf16", 2},   {"f16x2", 4},  {"bf16x2", 4}, {"b8", 1},         {"u8", 1},      {"s8", 1},
    {"pred", 0},   {"b128", 16},  {"f32x2", 8},  {"tf32", 4},       {"e4m3", 1},    {"e5m2", 1},
    {"e4m3x2", 2}, {"e5m2x2", 2}, {"texref", 0}, {"samplerref", 0}, {"surfref", 0},
};

struct SpaceRow {
  std::string_view name;
  StateSpace space;
};
constexpr SpaceRow kSpaces[] = {
    {"reg", StateSpace::reg},       {"sreg", StateSpace::sreg},   {"const", StateSpace::constant},
    {"global", StateSpace::global}, {"local", StateSpace::local}, {"param", StateSpace::param},
    {"shared", StateSpace::shared},
};

// PTX ISA 9.0, "Special Registers". Sorted; those with .x .y .z .w are vectors.
constexpr std::string_view kSpecial[] = {
    "aggr_smem_size",
    "clock",
    "clock64",
    "clock_hi",
    "cluster_ctaid",
    "cluster_ctarank",
    "cluster_nctaid",
    "cluster_nctarank",
    "clusterid",
    "ctaid",
    "current_graph_exec",
    "dynamic_smem_size",
    "globaltimer",
    "globaltimer_hi",
    "globaltimer_lo",
    "gridid",
    "is_explicit_cluster",
    "laneid",
    "lanemask_eq",
    "lanemask_ge",
    "lanemask_gt",
    "lanemask_le",
    "lanemask_lt",
    "nclusterid",
    "nctaid",
    "nsmid",
    "ntid",
    "nwarpid",
    "reserved_smem_offset_begin",
    "reserved_smem_offset_cap",
    "reserved_smem_offset_end",
    "smid",
    "tid",
    "total_smem_size",
    "warpid",
};

bool is_number_below(std::string_view digits, int bound) {
  if (digits.empty() || digits.size() > 2) return false;
  int value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  return value < bound && (digits.size() == 1 || digits[0] != '0');
}

}  // namespace

std::uint32_t type_bytes(std::string_view type) {
  for (const TypeRow& row : kTypes) {
    if (row.name == type) return row.bytes;
  }
  return 0;
}

std::uint64_t variable_bytes(const Variable& variable) {
  std::uint64_t bytes = std::uint64_t{type_bytes(variable.type)} * variable.vector_width;
  for (const std::uint64_t dimension : variable.dimensions) bytes *= dimension;
  return bytes;
}

bool is_type(std::string_view word) {
  return std::ranges::any_of(kTypes, [&](const TypeRow& row) { return row.name == word; });
}

std::string_view space_name(StateSpace space) {
  for (const SpaceRow& row : kSpaces) {
    if (row.space == space) return row.name;
  }
  return "";
}

StateSpace space_of(std::string_view word) {
  for (const SpaceRow& row : kSpaces) {
    if (row.name == word) return row.space;
  }
  return StateSpace::none;
}

bool is_special_register(std::string_view name) {
  if (name.size() < 2 || name[0] != '%') return false;
  name.remove_prefix(1);
  name = name.substr(0, name.find('.'));
  if (std::ranges::binary_search(kSpecial, name)) return true;
  if (name.starts_with("envreg")) return is_number_below(name.substr(6), 32);
  if (name.starts_with("reserved_smem_offset_")) return is_number_below(name.substr(21), 2);
  if (name.starts_with("pm")) {
    name.remove_prefix(2);
    if (name.ends_with("_64")) name.remove_suffix(3);
    return is_number_below(name, 8);
  }
  return false;
}

}  // namespace bitgate::machine::ptx
