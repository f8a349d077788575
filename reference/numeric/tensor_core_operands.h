#pragma once

#include <array>
#include <cstdint>

#include "reference/numeric/scalar_type.h"
#include "reference/numeric/tensor_core.h"

namespace bitgate::numeric {

/// Sixteen consecutive k of one row of A, decoded once for many tensor_core_row.
struct alignas(32) TensorCoreRow {
  std::array<float, 16> values;
  std::array<std::int16_t, 16> exponents;  ///< unnormalised; far below for zero, above for NaN, inf
};

/// Sixteen consecutive k of eight columns of B, decoded once for many tensor_core_row.
struct alignas(32) TensorCoreColumns {
  std::array<std::array<float, 8>, 16> values;            ///< [k][column]
  std::array<std::array<std::int16_t, 16>, 8> exponents;  ///< [k / 2][2 · column + k % 2]
};

/// bits: 16 elements of `type`.
void decode_row(ScalarType type, const std::uint16_t* bits, TensorCoreRow& row);
/// values: [k][column], each a number of `type`, where `stride` floats separate the k.
void decode_columns(ScalarType type, const float* values, std::size_t stride,
                    TensorCoreColumns& columns);

/// Eight outputs of a k16 step: d[n] = tensor_core_dot16(row, column n, c[n]); d may be c.
void tensor_core_row(const TensorModel& model, ScalarType type, const TensorCoreRow& row,
                     const TensorCoreColumns& columns, const float* c, float* d);

}  // namespace bitgate::numeric
