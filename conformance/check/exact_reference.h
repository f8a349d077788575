#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/formats/quantized_matrix.h"

namespace bitgate::conformance {

/// Bits [m][n], in the matrix' scale type, of the single rounding of the sum of
/// a[m,k] * scale[g,n] * (q[k,n] - z[g,n]) over k: what the exact fills and the probes must give.
///
/// `activations` [m][k] bits. The sums are made in f32 and skip zero activations; they are exact as
/// long as every partial sum is (fill_exact.h), which the caller knows of its fill.
std::vector<std::uint16_t> exact_outputs(const formats::QuantizedMatrix& matrix, std::int64_t m,
                                         std::span<const std::uint16_t> activations);

}  // namespace bitgate::conformance
