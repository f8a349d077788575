#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace bitgate::kernels {

/// A .cu file as built into this program: its PTX and the cubins made from it.
struct EmbeddedModule {
  std::string_view name;  ///< "w4a16/gemm"
  const unsigned char* ptx_begin;
  const unsigned char* ptx_end;
  const unsigned char* sm_80_begin;
  const unsigned char* sm_80_end;
  const unsigned char* sm_90_begin;
  const unsigned char* sm_90_end;
};
std::span<const EmbeddedModule> embedded_modules();

/// Whether it is the PTX of one of them, where it lies: nothing else ever lies there.
inline bool is_embedded(std::string_view ptx) {
  return std::ranges::any_of(embedded_modules(), [&](const EmbeddedModule& module) {
    const auto* begin = reinterpret_cast<const char*>(module.ptx_begin);
    return begin == ptx.data() &&
           ptx.size() == static_cast<std::size_t>(module.ptx_end - module.ptx_begin);
  });
}

struct EntryHash {
  std::string_view entry;
  std::string_view code_hash;
};
std::span<const EntryHash> embedded_code_hashes();

}  // namespace bitgate::kernels
