#pragma once

#include <cstdint>
#include <span>

#include "reference/formats/quantized_matrix.h"

namespace bitgate::formats {

/// Round-to-nearest 4-bit quantisation of W [n][k] (f32, finite) under `config`, whose scales are
/// f16. Per group and column, in f64 until the scale is rounded to f16:
///
///   asymmetric: low = min(0, min w), high = max(0, max w); scale = (high - low) / 15;
///               z = round(-low / scale) clamped to 0..15. gptq_v1 never gets z = 0, for which it
///               has no code: there z = 1 and scale = max(high / 14, -low). It never gets z = 16
///               either, which public readers of v1 disagree about.
///   symmetric:  z = 8, scale = max(high / 7, -low / 8), so that nothing is clipped.
///   q = round(w / scale) + z clamped to 0..15; rounding is half to even.
///
/// A group of zeros gets scale 1. A scale below f16's smallest subnormal becomes that subnormal;
/// one above 65504 is InputError, as is a weight that is not finite.
///
/// With act_order, rows are ordered by falling norm of their n weights, ties by index, and given to
/// groups in that order; the codes stay in the rows' own order and g_idx says each row's group.
QuantizedMatrix round_to_nearest(std::span<const float> weights, std::int64_t k, std::int64_t n,
                                 const QuantConfig& config);

}  // namespace bitgate::formats
