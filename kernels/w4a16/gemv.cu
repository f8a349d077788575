// GEMV for one to four rows on the CUDA cores: each weight is read and unpacked once, whatever the
// number of rows. A lane owns four columns and 8 of every 32 positions; its products are f32 fma in
// the order of k. The warps of a block cut K into contiguous ranges.

#include <cstdint>

#include "kernels/common/element.cuh"
#include "kernels/w4a16/arguments.cuh"
#include "kernels/w4a16/tile_layout.h"

namespace bitgate::kernels::w4a16 {

/// What a lane needs of one block of 32 positions.
template <int tile_m>
struct GemvOperands {
  uint4 weights;
  uint4 activation[tile_m];
  uint2 scales;
  std::uint32_t zero_points;
};

/// q - z in f32, exactly: the code or'ed into 2^23, less 2^23 + z.
__device__ __forceinline__ float centred_weight(std::uint32_t word, int nibble, float zero) {
  return __fsub_rn(__uint_as_float(((word >> (4 * nibble)) & 15U) | 0x4b000000U), zero);
}

/// part[row][column] += the block's products, positions in order. Columns are rows g and g+8 of the
/// two 16-column tiles.
template <class T, bool integer_zeros, int tile_m>
__device__ __forceinline__ void multiply_block(float (&part)[tile_m][4],
                                               const GemvOperands<tile_m>& block,
                                               std::uint32_t rows) {
  const std::uint32_t words[2][2] = {{block.weights.x, block.weights.y},
                                     {block.weights.z, block.weights.w}};
#pragma unroll
  for (int column = 0; column < 4; ++column) {
    float zero = 8388608.0F + 8.0F;
    if constexpr (integer_zeros) {
      zero = __uint_as_float(((block.zero_points >> (8 * column)) & 0xffU) | 0x4b000000U);
    }
    float weights[8];
#pragma unroll
    for (int position = 0; position < 8; ++position) {
      // Position 4·step + 2·register + half lies in word `step`, nibble 2·register + 4·half (+ 1
      // for row g+8).
      const int nibble = position / 2 % 2 * 2 + position % 2 * 4 + column % 2;
      weights[position] = centred_weight(words[column / 2][position / 4], nibble, zero);
    }
#pragma unroll
    for (int row = 0; row < tile_m; ++row) {
      if (row < rows) {
        const std::uint32_t pairs[4] = {block.activation[row].x, block.activation[row].y,
                                        block.activation[row].z, block.activation[row].w};
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
          part[row][column] =
              __fmaf_rn(weights[2 * pair], T::low_to_float(pairs[pair]), part[row][column]);
          part[row][column] =
              __fmaf_rn(weights[2 * pair + 1], T::high_to_float(pairs[pair]), part[row][column]);
        }
      }
    }
  }
}

template <class T, bool integer_zeros, int tile_m, int warps_k, int stages>
__device__ __forceinline__ void gemv(const Arguments& args) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t unit = blockIdx.x % args.units();
  const std::uint32_t first_row = blockIdx.x / args.units() * tile_m;
  const std::uint32_t rows = min(args.m - first_row, static_cast<std::uint32_t>(tile_m));
  const std::uint32_t begin = args.blocks() * warp / warps_k;
  const std::uint32_t end = args.blocks() * (warp + 1) / warps_k;
  const unsigned char* const weights = args.unit_weights(unit) + lane * 16;
  const unsigned char* const scales = args.unit_scales(unit) + lane / 4 * 8;
  const unsigned char* const zero_points = args.unit_zero_points(unit) + lane / 4 * 4;

  const auto load = [&](std::uint32_t block) {
    GemvOperands<tile_m> operands;
    operands.weights = __ldg(
        reinterpret_cast<const uint4*>(weights + static_cast<std::uint64_t>(block) * kUnitBytes));
#pragma unroll
    for (int row = 0; row < tile_m; ++row) {
      operands.activation[row] = uint4{};
      if (row < rows) {
        operands.activation[row] =
            load_activation(args, args.a_row(first_row + row), block * kBlockK + lane % 4 * 8);
      }
    }
    const std::uint64_t group = block >> args.group_shift;
    operands.scales = __ldg(reinterpret_cast<const uint2*>(scales + group * kUnitScaleBytes));
    operands.zero_points = 0;
    if constexpr (integer_zeros) {
      operands.zero_points =
          __ldg(reinterpret_cast<const std::uint32_t*>(zero_points + group * kUnitZeroBytes));
    }
    return operands;
  };

  float sums[tile_m][4] = {};
  float part[tile_m][4] = {};
  GemvOperands<tile_m> ring[stages];
  // One loop fills the ring and drains it, a round behind.
#pragma unroll 1
  for (std::uint32_t first = begin; first < end + stages; first += stages) {
#pragma unroll
    for (int slot = 0; slot < stages; ++slot) {
      const std::uint32_t next = first + slot;
      const std::uint32_t block = next - stages;
      if (next >= begin + stages && block < end) {
        multiply_block<T, integer_zeros>(part, ring[slot], rows);
        if (args.ends_group(block) || block + 1 == end) {
          const float scale[4] = {
              T::low_to_float(ring[slot].scales.x), T::high_to_float(ring[slot].scales.x),
              T::low_to_float(ring[slot].scales.y), T::high_to_float(ring[slot].scales.y)};
#pragma unroll
          for (int row = 0; row < tile_m; ++row) {
#pragma unroll
            for (int column = 0; column < 4; ++column) {
              sums[row][column] = __fmaf_rn(scale[column], part[row][column], sums[row][column]);
              part[row][column] = 0.0F;
            }
          }
        }
      }
      if (next < end) {
        ring[slot] = load(next);
      }
    }
  }

  // The four lanes of a column, then the warps in the order of k.
  float* partials = reinterpret_cast<float*>(shared_memory);
#pragma unroll
  for (int row = 0; row < tile_m; ++row) {
#pragma unroll
    for (int column = 0; column < 4; ++column) {
      float sum = sums[row][column];
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffU, sum, 1));
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffU, sum, 2));
      if (lane % 4 == 0) {
        partials[(warp * tile_m + row) * kUnitColumns + column * 8 + lane / 4] = sum;
      }
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < rows * kUnitColumns; i += warps_k * 32) {
    const std::uint32_t column = unit * kUnitColumns + i % kUnitColumns;
    if (column < args.n) {
      float sum = partials[i];
#pragma unroll
      for (std::uint32_t other = 1; other < warps_k; ++other) {
        sum = __fadd_rn(sum, partials[other * tile_m * kUnitColumns + i]);
      }
      args.c_row(first_row + i / kUnitColumns)[column] = T::round(sum);
    }
  }
}

}  // namespace bitgate::kernels::w4a16

#define BITGATE_ENTRY(tile_m, tile_n, tile_k, warps_k, stages, TYPE, type, INTEGER, zeros)     \
  extern "C" __global__ void __launch_bounds__(warps_k * 32, 1)                                \
      w4a16_gemv_##tile_m##x##tile_n##x##tile_k##_##type##_##zeros(BITGATE_W4A16_PARAMETERS) { \
    bitgate::kernels::w4a16::gemv<bitgate::kernels::device::TYPE, INTEGER, tile_m, warps_k,    \
                                  stages>(BITGATE_W4A16_ARGUMENTS);                            \
  }
#define W4A16_GEMV(tile_m, tile_n, tile_k, warps_k, stages, BUILT, claims) \
  BUILT(BITGATE_ENTRY, tile_m, tile_n, tile_k, warps_k, stages)
#include "kernels/kernels.inc"
