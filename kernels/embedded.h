#pragma once

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

struct EntryHash {
  std::string_view entry;
  std::string_view code_hash;
};
std::span<const EntryHash> embedded_code_hashes();

}  // namespace bitgate::kernels
