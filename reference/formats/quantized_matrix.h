#pragma once

#include <cstdint>
#include <vector>

#include "reference/numeric/scalar_type.h"

namespace bitgate::formats {

/// How a checkpoint stores zero points. `sym`: the value is 8 and the stored tensor, if any, is not
/// to be read. `gptq_v1` stores z-1 (a stored 15 reads as 16), `gptq_v2` stores z, `awq` stores z
/// with interleaved nibbles.
enum class ZeroPoints { sym, gptq_v1, gptq_v2, awq };

/// What a checkpoint's own config states. Nothing here is ever inferred from tensors.
struct QuantConfig {
  int bits = 4;                   ///< 4 is the only width served
  std::int64_t group_size = 128;  ///< -1: one group, the whole of K
  bool symmetric = false;
  ZeroPoints zero_points = ZeroPoints::gptq_v2;  ///< `sym` exactly when symmetric
  bool awq_layout = false;                       ///< qweight in AWQ GEMM layout, else GPTQ
  /// What a writer leaves in the qzeros tensor that nobody reads when `symmetric`: the value 8 as
  /// gptq_v1 (7 stored) or as gptq_v2 (8 stored). Under awq_layout it is 8 either way.
  ZeroPoints symmetric_placeholder = ZeroPoints::gptq_v1;
  bool act_order = false;  ///< `g_idx` is meaningful
  /// Of the `scales` tensor: a loaded layer has it from that tensor's dtype, as configs do not say.
  numeric::ScalarType scale_type = numeric::ScalarType::f16;
  friend bool operator==(const QuantConfig&, const QuantConfig&) = default;
};

/// The logical content of a quantised layer in natural order, whatever layout it came from:
/// w[k,n] = scale[g,n] * (q[k,n] - z[g,n]) with g = g_idx[k].
struct QuantizedMatrix {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t group = 0;  ///< resolved: > 0, divides k (equals k for -1)
  numeric::ScalarType scale_type = numeric::ScalarType::f16;
  std::vector<std::uint8_t> q;        ///< [k][n], 0..15
  std::vector<std::uint8_t> z;        ///< [k/group][n], 0..16: the value subtracted
  std::vector<std::uint16_t> scales;  ///< [k/group][n], bits of scale_type
  std::vector<std::int32_t> g_idx;    ///< [k]: group of each row

  std::int64_t groups() const { return group > 0 ? k / group : 0; }
  friend bool operator==(const QuantizedMatrix&, const QuantizedMatrix&) = default;
};

/// The public tensors of one layer as they lie in a checkpoint, with the config that says how to
/// read them. Shapes: GPTQ qweight [k/8][n], qzeros [k/group][n/8]; AWQ GEMM qweight [k][n/8],
/// qzeros [k/group][n/8]; scales [k/group][n]; g_idx [k] (GPTQ only; meaningful with act_order).
struct PackedLayer {
  QuantConfig config;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::vector<std::int32_t> qweight;
  std::vector<std::int32_t> qzeros;
  std::vector<std::uint16_t> scales;
  std::vector<std::int32_t> g_idx;
};

/// Writes the public layout of `matrix`. InputError for what the convention cannot hold, by name
/// (z = 0 under gptq_v1; z = 16 elsewhere; z other than 8 when symmetric; k or n not a multiple of
/// 8; act-order with awq; a g_idx that is not k / group without act-order). A GPTQ layer always
/// carries g_idx, an AWQ layer never does.
PackedLayer pack(const QuantizedMatrix& matrix, const QuantConfig& config);

/// Reads it back. InputError naming the violated invariant (shapes, a g_idx entry out of range, a
/// group without exactly `group` rows, …). With `symmetric` qzeros is never touched and z is 8;
/// without `act_order` g_idx is never touched and the group of row k is k / group.
QuantizedMatrix unpack(const PackedLayer& layer);

/// The config's group size for a layer of k rows: group_size, or k for -1. InputError when it is
/// neither positive nor -1, or does not divide k.
std::int64_t resolve_group(std::int64_t group_size, std::int64_t k);

/// f32 [k][n], exact (11 + 5 bits).
std::vector<float> dequantize(const QuantizedMatrix& matrix);

/// Row order that sorts k by group, ties by index: position p holds row order[p].
std::vector<std::int32_t> sort_by_group(const QuantizedMatrix& matrix);

}  // namespace bitgate::formats
