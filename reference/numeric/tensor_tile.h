#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "reference/numeric/tensor_core.h"
#include "reference/numeric/tensor_type.h"

namespace bitgate::numeric {

/// Packed elements along k, as mma's registers hold them (low k in low bits): 32 bytes are f16 k16,
/// tf32 k8, s8 k32, s4 k64 or b1 k256. A shorter k leaves the rest zero, which adds nothing.
struct alignas(32) TileRow {
  std::array<std::uint32_t, 8> words{};
};

using TileRowsA = std::span<const TileRow>;     ///< [m], of any number of rows
using TileRowsB = std::span<const TileRow, 8>;  ///< [n]

/// D = A·B + C of a tile of any m and n = 8: c and d [m][8], d may be c. Each element as tensor_dot
/// says; f16, bf16 and tf32, and fp8 where it is two f16 mma, some hundred times faster (AVX2).
/// Unsupported as tensor_dot.
void tensor_tile(const TensorModel& model, TensorType a_type, TensorType b_type, TileRowsA a,
                 TileRowsB b, const float* c, float* d);
/// The same with f16 accumulators, by their bits.
void tensor_tile_f16(const TensorModel& model, TensorType a_type, TensorType b_type, TileRowsA a,
                     TileRowsB b, const std::uint16_t* c, std::uint16_t* d);
/// s8, u8, s4, u4, as integer_dot.
void integer_tile(TensorType a_type, TensorType b_type, TileRowsA a, TileRowsB b, bool saturate,
                  const std::int32_t* c, std::int32_t* d);

enum class BitProduct : std::uint8_t { exclusive_or, bit_and };
/// b1: d = c + the number of ones of all products; it wraps.
void bit_tile(BitProduct product, TileRowsA a, TileRowsB b, const std::int32_t* c, std::int32_t* d);

}  // namespace bitgate::numeric
