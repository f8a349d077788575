#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device/device.h"
#include "reference/numeric/scalar_type.h"

namespace bitgate::kernels {

/// What one row of kernels.inc says of a tile.
struct Geometry {
  std::string variant;  ///< "gemv", "gemm", "prefill"
  int tile_m = 0;
  int tile_n = 0;
  int tile_k = 0;
  int warps_m = 1;
  int warps_n = 1;
  int warps_k = 1;
  int stages = 1;    ///< pipeline depth
  int resident = 1;  ///< blocks that a multiprocessor is meant to hold
};

/// Zero-point storage a kernel is built for: `sym` subtracts 8, `integer` reads zero points.
enum class Zeros { sym, integer };
constexpr std::string_view name(Zeros zeros) { return zeros == Zeros::sym ? "sym" : "int"; }

/// One instantiation: one entry, one code hash, one name, family.variant.tile.type.zeros.
struct Kernel {
  std::string name;    ///< "w4a16.gemm.16x64x256.f16.int"
  std::string family;  ///< "w4a16"
  std::string entry;   ///< "w4a16_gemm_16x64x256_f16_int"
  Geometry geometry;
  numeric::ScalarType type = numeric::ScalarType::f16;
  Zeros zeros = Zeros::sym;
  std::vector<std::string> claims;
  const Code* code = nullptr;  ///< module that holds the entry, as built into this program
  std::string code_hash;
};

/// All kernels, in the order of kernels.inc.
const std::vector<Kernel>& kernels();
/// Kernels whose name matches a shell GLOB (`*`, `?`, `[…]`). InputError when none does.
std::vector<const Kernel*> match_kernels(std::string_view glob);
/// InputError with the nearest names when there is none.
const Kernel& kernel_named(std::string_view name);

}  // namespace bitgate::kernels
