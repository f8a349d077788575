#pragma once

#include <cstdint>
#include <span>

#include "reference/numeric/tensor_core.h"
#include "reference/numeric/tensor_type.h"

namespace bitgate::numeric {

/// One output element of an mma, by the rules of tensor_core.h, for every type of operand: slow and
/// plain; tensor_tile.h has the fast way for whole tiles. `a` and `b` hold the bits of as many
/// elements, in the order of k; of a sparse A and its B, the selected ones.

/// d = c + Σ a·b of f16, bf16, tf32 (a_type = b_type) or e4m3 and e5m2 (mixed or not).
/// Unsupported when the model's architecture has no fp8 mma.
float tensor_dot(const TensorModel& model, TensorType a_type, TensorType b_type,
                 std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, float c);

/// The same with an f16 accumulator and result, by their bits; a and b are f16 or fp8.
std::uint16_t tensor_dot_f16(const TensorModel& model, TensorType a_type, TensorType b_type,
                             std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                             std::uint16_t c);

/// d = c + Σ a·b of s8, u8, s4, u4. The sum is exact; it wraps, or saturates once at the end.
std::int32_t integer_dot(TensorType a_type, TensorType b_type, std::span<const std::uint32_t> a,
                         std::span<const std::uint32_t> b, std::int32_t c, bool saturate);

/// The value of an element of a floating-point type of at most 32 bits. Exact; any NaN is a NaN.
float element_value(TensorType type, std::uint32_t bits);

}  // namespace bitgate::numeric
