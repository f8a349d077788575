// Tensor-core GEMM for few rows: tile_m activation rows against warps_n units of 32 columns, K cut
// into warps_k contiguous ranges. Weights are the 16-row operand, so that a row of the tile costs
// nothing beyond the 8 that one product holds. Bound by reading the weights once.

#include <cstdint>

#include "kernels/common/copy.cuh"
#include "kernels/common/dequantize.cuh"
#include "kernels/common/element.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/w4a16/arguments.cuh"
#include "kernels/w4a16/tile_layout.h"

namespace bitgate::kernels::w4a16 {

using device::Fragment16x16;
using device::ScalePairs;
using device::Sums16x8;
using device::ZeroPoints;

/// The ring of one k-group of warps: who copies what into a stage.
template <bool integer_zeros, int tile_m, int warps_n>
struct GemmRing {
  static constexpr StageLayout kLayout{tile_m, warps_n};
  static constexpr std::uint32_t kThreads = warps_n * 32;
  static constexpr std::uint32_t kRowStep = kThreads / 8;

  const Arguments& args;
  unsigned char* shared;
  std::uint32_t begin;  ///< first block of the k-group's range
  std::uint32_t end;
  std::uint32_t first_row;
  std::uint32_t rows;  ///< of the tile that exist, ≤ tile_m
  std::uint32_t warp_n;
  std::uint32_t lane;
  std::uint32_t unit;
  bool unit_exists;

  /// The rows past M multiply as zeros; no copy ever touches them again.
  __device__ __forceinline__ void clear_missing_rows(int stages) const {
    const std::uint32_t thread = warp_n * 32 + lane;
    for (int stage = 0; stage < stages; ++stage) {
      for (std::uint32_t i = thread; i < kStageBlocks * (tile_m - rows) * 4; i += kThreads) {
        const std::uint32_t block = i / ((tile_m - rows) * 4);
        const std::uint32_t within = i % ((tile_m - rows) * 4);
        *reinterpret_cast<uint4*>(shared + stage * kLayout.bytes() + (block * tile_m + rows) * 64 +
                                  within * 16) = uint4{};
      }
    }
  }

  /// Stage `index` of the range into `slot`.
  __device__ __forceinline__ void copy(std::uint32_t index, std::uint32_t slot) const {
    unsigned char* stage = shared + slot * kLayout.bytes();
    const std::uint32_t first = begin + index * kStageBlocks;
    copy_activation(stage + kLayout.activation(), first);
    if (unit_exists) {
      copy_weights(stage + kLayout.weights() + warp_n * kStageBlocks * kUnitBytes, first);
      copy_scales(stage, first);
    }
  }

 private:
  __device__ __forceinline__ void copy_activation(unsigned char* stage, std::uint32_t first) const {
    const std::uint32_t thread = warp_n * 32 + lane;
    const std::uint32_t row0 = thread / 8;
    const std::uint32_t block_in_stage = thread / 4 % 2;
    const std::uint32_t piece = thread % 4;
    const std::uint32_t block = first + block_in_stage;
    if (block >= end) {
      return;
    }
    const std::uint32_t position = block * kBlockK + piece * 8;
    unsigned char* place = stage + block_in_stage * tile_m * 64 + piece * 16;
    if (args.path == ActivationPath::vectors) {
#pragma unroll
      for (std::uint32_t i = 0; i * kRowStep < tile_m; ++i) {
        const std::uint32_t row = row0 + i * kRowStep;
        if (row < rows) {
          device::copy_async_16(place + row * 64, args.a_row(first_row + row) + position);
        }
      }
    } else {
#pragma unroll 1
      for (std::uint32_t row = row0; row < rows; row += kRowStep) {
        *reinterpret_cast<uint4*>(place + row * 64) =
            load_activation(args, args.a_row(first_row + row), position);
      }
    }
  }

  __device__ __forceinline__ void copy_weights(unsigned char* stage, std::uint32_t first) const {
    const unsigned char* source =
        args.unit_weights(unit) + static_cast<std::uint64_t>(first) * kUnitBytes + lane * 16;
#pragma unroll
    for (std::uint32_t b = 0; b < kStageBlocks; ++b) {
      if (first + b < end) {
        device::copy_async_16(stage + b * kUnitBytes + lane * 16, source + b * kUnitBytes);
      }
    }
  }

  /// Lanes 0..7 bring the scales of blocks that end a run, lanes 8..11 the zero points of every
  /// block.
  __device__ __forceinline__ void copy_scales(unsigned char* stage, std::uint32_t first) const {
    if (lane < 8) {
      const std::uint32_t block = first + lane / 4;
      if (block < end && (args.ends_group(block) || block + 1 == end)) {
        device::copy_async_16(
            stage + kLayout.scales() + warp_n * kStageBlocks * kUnitScaleBytes + lane * 16,
            args.unit_scales(unit) + (block >> args.group_shift) * std::uint64_t{kUnitScaleBytes} +
                lane % 4 * 16);
      }
    } else if (integer_zeros && lane < 12) {
      const std::uint32_t block = first + (lane - 8) / 2;
      if (block < end) {
        device::copy_async_16(stage + kLayout.zero_points() +
                                  warp_n * kStageBlocks * kUnitZeroBytes + (lane - 8) * 16,
                              args.unit_zero_points(unit) +
                                  (block >> args.group_shift) * std::uint64_t{kUnitZeroBytes} +
                                  lane % 2 * 16);
      }
    }
  }
};

/// A warp's sums: 32 columns (two tiles of 16) by tile_m rows.
template <int tile_m>
struct WarpSums {
  Sums16x8 v[2][tile_m / 8];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
      for (int m8 = 0; m8 < tile_m / 8; ++m8) {
        v[tile][m8] = {{0.0F, 0.0F, 0.0F, 0.0F}};
      }
    }
  }

  /// this = fma(scale, part, this)
  template <class T>
  __device__ __forceinline__ void add_scaled(const WarpSums& part, const ScalePairs& scales) {
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const float first = T::low_to_float(scales.tile[tile]);
      const float second = T::high_to_float(scales.tile[tile]);
#pragma unroll
      for (int m8 = 0; m8 < tile_m / 8; ++m8) {
        Sums16x8& sum = v[tile][m8];
        const Sums16x8& add = part.v[tile][m8];
        sum.v[0] = __fmaf_rn(first, add.v[0], sum.v[0]);
        sum.v[1] = __fmaf_rn(first, add.v[1], sum.v[1]);
        sum.v[2] = __fmaf_rn(second, add.v[2], sum.v[2]);
        sum.v[3] = __fmaf_rn(second, add.v[3], sum.v[3]);
      }
    }
  }
};

/// part += one block of 32 positions
template <class T, int tile_m>
__device__ __forceinline__ void multiply_block(WarpSums<tile_m>& part, const uint4& words,
                                               const ZeroPoints<T> (&zeros)[2],
                                               const unsigned char* activation,
                                               std::uint32_t lane) {
  const Fragment16x16 weights[2][2] = {
      {device::centred<T>(words.x, zeros[0]), device::centred<T>(words.y, zeros[0])},
      {device::centred<T>(words.z, zeros[1]), device::centred<T>(words.w, zeros[1])}};
#pragma unroll
  for (int m8 = 0; m8 < tile_m / 8; ++m8) {
    const uint4 columns = *reinterpret_cast<const uint4*>(activation + m8 * 512 + lane * 16);
    device::mma<T>(part.v[0][m8], weights[0][0], columns.x, columns.y);
    device::mma<T>(part.v[1][m8], weights[1][0], columns.x, columns.y);
    device::mma<T>(part.v[0][m8], weights[0][1], columns.z, columns.w);
    device::mma<T>(part.v[1][m8], weights[1][1], columns.z, columns.w);
  }
}

template <class T, bool integer_zeros, int tile_m, int warps_n, int warps_k, int stages>
__device__ __forceinline__ void gemm(const Arguments& args) {
  constexpr GemmLayout kLayout{tile_m, warps_n, warps_k, stages};
  constexpr StageLayout kStage = kLayout.stage();
  constexpr std::uint32_t kTileN = warps_n * kUnitColumns;
  extern __shared__ __align__(128) unsigned char shared_memory[];

  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp_n = threadIdx.x / 32 % warps_n;
  const std::uint32_t warp_k = threadIdx.x / 32 / warps_n;
  const std::uint32_t tiles_n = (args.n + kTileN - 1) / kTileN;
  const std::uint32_t first_row = blockIdx.x / tiles_n * tile_m;
  const std::uint32_t first_unit = blockIdx.x % tiles_n * warps_n;
  const std::uint32_t rows = min(args.m - first_row, static_cast<std::uint32_t>(tile_m));
  const std::uint32_t begin = args.blocks() * warp_k / warps_k;
  const std::uint32_t end = args.blocks() * (warp_k + 1) / warps_k;
  const std::uint32_t unit = first_unit + warp_n;
  const bool unit_exists = unit < args.units();

  const GemmRing<integer_zeros, tile_m, warps_n> ring{
      args,      shared_memory + warp_k * kLayout.ring_bytes(),
      begin,     end,
      first_row, rows,
      warp_n,    lane,
      unit,      unit_exists};
  ring.clear_missing_rows(stages);

  const std::uint32_t count = (end - begin + kStageBlocks - 1) / kStageBlocks;
  WarpSums<tile_m> sums;
  WarpSums<tile_m> part;
  sums.clear();
  part.clear();
  // Copies run stages - 1 ahead of the products, each into the slot that was last read.
  std::uint32_t slot = 1;
  std::uint32_t free_slot = 0;
#pragma unroll 1
  for (std::uint32_t ahead = 0; ahead < count + stages - 1; ++ahead) {
    const bool multiply = ahead >= stages - 1;
    if (multiply) {
      device::copy_async_wait<stages - 2>();
      device::synchronize_warps<warps_n>(static_cast<int>(warp_k) + 1);
    }
    if (ahead < count) {
      ring.copy(ahead, free_slot);
    }
    device::copy_async_commit();
    const unsigned char* stage = ring.shared + slot * kStage.bytes();
    if (multiply && unit_exists) {
#pragma unroll
      for (std::uint32_t b = 0; b < kStageBlocks; ++b) {
        const std::uint32_t block = begin + (ahead - (stages - 1)) * kStageBlocks + b;
        if (block < end) {
          const std::uint32_t place = warp_n * kStageBlocks + b;
          const uint4 words = *reinterpret_cast<const uint4*>(stage + kStage.weights() +
                                                              place * kUnitBytes + lane * 16);
          ZeroPoints<T> zeros[2];
          if constexpr (integer_zeros) {
            const std::uint32_t bytes = *reinterpret_cast<const std::uint32_t*>(
                stage + kStage.zero_points() + place * kUnitZeroBytes + lane / 4 * 4);
            zeros[0] = ZeroPoints<T>(bytes, 0);
            zeros[1] = ZeroPoints<T>(bytes, 1);
          }
          multiply_block<T, tile_m>(part, words, zeros,
                                    stage + kStage.activation() + b * tile_m * 64, lane);
          if (args.ends_group(block) || block + 1 == end) {
            const uint2 scales = *reinterpret_cast<const uint2*>(
                stage + kStage.scales() + place * kUnitScaleBytes + lane / 4 * 8);
            sums.template add_scaled<T>(part, {{scales.x, scales.y}});
            part.clear();
          }
        }
      }
    }
    slot = slot + 1 == stages ? 0 : slot + 1;
    free_slot = free_slot + 1 == stages ? 0 : free_slot + 1;
  }

  // The k-groups' sums meet in shared memory, in the order of k.
  device::copy_async_wait<0>();
  __syncthreads();
  constexpr std::uint32_t kPitch = kLayout.sum_pitch();
  float* partials = reinterpret_cast<float*>(shared_memory);
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
    for (int m8 = 0; m8 < tile_m / 8; ++m8) {
      float* place = partials + (warp_k * tile_m + m8 * 8 + lane % 4 * 2) * kPitch +
                     warp_n * kUnitColumns + tile * 16 + lane / 4;
      place[0] = sums.v[tile][m8].v[0];
      place[kPitch] = sums.v[tile][m8].v[1];
      place[8] = sums.v[tile][m8].v[2];
      place[kPitch + 8] = sums.v[tile][m8].v[3];
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < rows * kTileN; i += warps_n * warps_k * 32) {
    const std::uint32_t row = i / kTileN;
    const std::uint32_t column = first_unit * kUnitColumns + i % kTileN;
    if (column < args.n) {
      float sum = partials[row * kPitch + i % kTileN];
#pragma unroll
      for (std::uint32_t group = 1; group < warps_k; ++group) {
        sum = __fadd_rn(sum, partials[(group * tile_m + row) * kPitch + i % kTileN]);
      }
      args.c_row(first_row + row)[column] = T::round(sum);
    }
  }
}

}  // namespace bitgate::kernels::w4a16

#define BITGATE_ENTRY(tile_m, tile_n, tile_k, warps_n, warps_k, stages, TYPE, type, INTEGER,   \
                      zeros)                                                                   \
  extern "C" __global__ void __launch_bounds__(warps_n* warps_k * 32, 1)                       \
      w4a16_gemm_##tile_m##x##tile_n##x##tile_k##_##type##_##zeros(BITGATE_W4A16_PARAMETERS) { \
    bitgate::kernels::w4a16::gemm<bitgate::kernels::device::TYPE, INTEGER, tile_m, warps_n,    \
                                  warps_k, stages>(BITGATE_W4A16_ARGUMENTS);                   \
  }
#define W4A16_GEMM(tile_m, tile_n, tile_k, warps_n, warps_k, stages, BUILT, claims) \
  BUILT(BITGATE_ENTRY, tile_m, tile_n, tile_k, warps_n, warps_k, stages)
#include "kernels/kernels.inc"
