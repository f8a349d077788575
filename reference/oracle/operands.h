#pragma once

#include <cstdint>
#include <span>

#include "reference/formats/quantized_matrix.h"
#include "reference/oracle/activations.h"
#include "reference/oracle/arithmetic.h"

namespace bitgate::oracle {

/// InputError naming what does not fit when A and W are not two whole operands of one product:
/// k, lda, sizes, a g_idx entry out of range, a type that is not f16 or bf16.
void require_operands(const Activations& a, const formats::QuantizedMatrix& w);

/// InputError unless `order` is a permutation of the k rows.
void require_order(std::span<const std::int32_t> order, std::int64_t k);

/// One row of W as f32, w[n] = scale · (q - z), for columns [first, first + count): exact (11 + 5
/// significant bits), or with WeightForm::scaled rounded once to the scale's type.
void dequantize_row(const formats::QuantizedMatrix& w, WeightForm form, std::int64_t k,
                    std::int64_t first, std::int64_t count, float* out);

}  // namespace bitgate::oracle
