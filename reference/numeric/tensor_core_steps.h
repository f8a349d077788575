#pragma once

#include <cstdint>

#include "reference/numeric/tensor_tile.h"

namespace bitgate::numeric {

/// tensor_tile of f16, bf16 and tf32, by vectors.
void vector_tile(const TensorModel& model, TensorType type, TileRowsA a, TileRowsB b,
                 const float* c, float* d);
/// tensor_tile_f16 of f16, by vectors.
void vector_tile_f16(const TensorModel& model, TileRowsA a, TileRowsB b, const std::uint16_t* c,
                     std::uint16_t* d);

}  // namespace bitgate::numeric
