#pragma once

#include <cstdint>

#include "kernels/common/copy.cuh"
#include "kernels/w4a16/tile_layout.h"

namespace bitgate::kernels::w4a16 {

/// The parameters of every entry, in order; make_launch passes the same. Sizes are below 2^31,
/// products of two of them are taken in 64 bits.
struct Arguments {
  const std::uint16_t* a;
  std::uint16_t* c;
  const unsigned char* weights;
  const unsigned char* scales;
  const unsigned char* zero_points;
  const std::int32_t* order;
  std::uint32_t m;
  std::uint32_t n;
  std::uint32_t k;
  /// Block b of 32 positions belongs to group b >> group_shift; 31 where a group is the whole of K.
  std::uint32_t group_shift;
  std::int64_t lda;
  std::int64_t ldc;
  ActivationPath path;
  /// The output's rows are whole, aligned 16-byte pieces.
  std::uint32_t output_vectors;

  __device__ __forceinline__ std::uint32_t blocks() const { return k / kBlockK; }
  __device__ __forceinline__ std::uint32_t units() const {
    return (n + kUnitColumns - 1) / kUnitColumns;
  }
  __device__ __forceinline__ std::uint32_t groups() const {
    return k == 0 ? 0 : ((blocks() - 1) >> group_shift) + 1;
  }
  __device__ __forceinline__ bool ends_group(std::uint32_t block) const {
    return ((block + 1) & ((1U << group_shift) - 1)) == 0;
  }
  __device__ __forceinline__ const unsigned char* unit_weights(std::uint32_t unit) const {
    return weights + static_cast<std::uint64_t>(unit) * blocks() * kUnitBytes;
  }
  __device__ __forceinline__ const unsigned char* unit_scales(std::uint32_t unit) const {
    return scales + static_cast<std::uint64_t>(unit) * groups() * kUnitScaleBytes;
  }
  __device__ __forceinline__ const unsigned char* unit_zero_points(std::uint32_t unit) const {
    return zero_points + static_cast<std::uint64_t>(unit) * groups() * kUnitZeroBytes;
  }
  __device__ __forceinline__ const std::uint16_t* a_row(std::uint32_t row) const {
    return a + static_cast<std::int64_t>(row) * lda;
  }
  __device__ __forceinline__ std::uint16_t* c_row(std::uint32_t row) const {
    return c + static_cast<std::int64_t>(row) * ldc;
  }
};

/// Positions position … position+7 of a row, by the call's path.
__device__ __forceinline__ uint4 load_activation(const Arguments& args, const std::uint16_t* row,
                                                 std::uint32_t position) {
  if (args.path == ActivationPath::vectors) {
    return __ldg(reinterpret_cast<const uint4*>(row + position));
  }
  std::uint32_t pairs[4];
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::uint32_t first = position + 2 * i;
    std::uint32_t second = first + 1;
    if (args.path == ActivationPath::gathered) {
      first = static_cast<std::uint32_t>(__ldg(args.order + first));
      second = static_cast<std::uint32_t>(__ldg(args.order + second));
    }
    pairs[i] = static_cast<std::uint32_t>(__ldg(row + first)) |
               static_cast<std::uint32_t>(__ldg(row + second)) << 16;
  }
  return make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

}  // namespace bitgate::kernels::w4a16

/// An entry's parameter list, and the Arguments made of it.
#define BITGATE_W4A16_PARAMETERS                                                                \
  const std::uint16_t *a, std::uint16_t *c, const unsigned char *weights,                       \
      const unsigned char *scales, const unsigned char *zero_points, const std::int32_t *order, \
      std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t group_shift,             \
      std::int64_t lda, std::int64_t ldc, bitgate::kernels::w4a16::ActivationPath path,         \
      std::uint32_t output_vectors
#define BITGATE_W4A16_ARGUMENTS \
  {a, c, weights, scales, zero_points, order, m, n, k, group_shift, lda, ldc, path, output_vectors}

/// The instantiations that a row of kernels.inc may name: ROW(…, element type, its name, integer
/// zero points, their name).
#define BITGATE_ALL_TYPES_ALL_ZEROS(ROW, ...) \
  ROW(__VA_ARGS__, F16, f16, false, sym)      \
  ROW(__VA_ARGS__, F16, f16, true, int)       \
  ROW(__VA_ARGS__, BF16, bf16, false, sym)    \
  ROW(__VA_ARGS__, BF16, bf16, true, int)
