// Tensor-core GEMM for many rows: a tile of 128 rows, warps_m x warps_n warps of 64 rows by 32
// columns in each of warps_k groups, which take every warps_k-th block of 32 positions. Weights are
// rounded to the element type as scale · (q - z); products run in one f32 chain a k-group.

#include <cstdint>

#include "kernels/common/copy.cuh"
#include "kernels/common/dequantize.cuh"
#include "kernels/common/element.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/w4a16/arguments.cuh"
#include "kernels/w4a16/tile_layout.h"

namespace bitgate::kernels::w4a16 {

using device::Fragment16x16;
using device::Sums16x8;
using device::ZeroPoints;

/// The tile of a block: eight tiles of rows at a time, rows first, so that the blocks in flight
/// share the activation and each weight is fetched once.
struct PrefillTile {
  std::uint32_t m;
  std::uint32_t n;

  __device__ __forceinline__ PrefillTile(std::uint32_t block, std::uint32_t tiles_m,
                                         std::uint32_t tiles_n) {
    constexpr std::uint32_t kBand = 8;
    const std::uint32_t band = block / (kBand * tiles_n);
    const std::uint32_t within = block % (kBand * tiles_n);
    const std::uint32_t height = min(tiles_m - band * kBand, kBand);
    m = band * kBand + within % height;
    n = within / height;
  }
};

/// The ring that all warps of a block share: who copies what into a stage.
template <bool integer_zeros, int tile_m, int tile_n, int threads>
struct PrefillRing {
  static constexpr StageLayout kLayout{tile_m, tile_n / kUnitColumns};
  static constexpr std::uint32_t kUnits = tile_n / kUnitColumns;
  static constexpr std::uint32_t kRowStep = threads / 8;

  const Arguments& args;
  unsigned char* shared;
  std::uint32_t first_row;
  std::uint32_t rows;  ///< of the tile that exist
  std::uint32_t first_unit;
  std::uint32_t units;  ///< of the tile that exist

  /// The rows past M multiply as zeros; no copy ever touches them again.
  __device__ __forceinline__ void clear_missing_rows(int stages) const {
    for (std::uint32_t i = threadIdx.x; i < stages * kStageBlocks * tile_m * 4; i += threads) {
      const std::uint32_t stage = i / (kStageBlocks * tile_m * 4);
      const std::uint32_t piece = i % (kStageBlocks * tile_m * 4);
      if (piece / 4 % tile_m >= rows) {
        *reinterpret_cast<uint4*>(shared + stage * kLayout.bytes() + piece * 16) = uint4{};
      }
    }
  }

  /// Blocks first, first+1 of K into `slot`.
  __device__ __forceinline__ void copy(std::uint32_t first, std::uint32_t slot) const {
    unsigned char* stage = shared + slot * kLayout.bytes();
    copy_activation(stage + kLayout.activation(), first);
    copy_weights(stage + kLayout.weights(), first);
    copy_scales(stage, first);
  }

 private:
  __device__ __forceinline__ void copy_activation(unsigned char* stage, std::uint32_t first) const {
    const std::uint32_t row0 = threadIdx.x / 8;
    const std::uint32_t block = threadIdx.x / 4 % 2;
    const std::uint32_t piece = threadIdx.x % 4;
    if (first + block >= args.blocks()) {
      return;
    }
    const std::uint32_t position = (first + block) * kBlockK + piece * 8;
    unsigned char* place = stage + block * tile_m * 64 + piece * 16;
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
#pragma unroll
    for (std::uint32_t first_piece = 0; first_piece < kUnits * kStageBlocks * 32;
         first_piece += threads) {
      const std::uint32_t i = first_piece + threadIdx.x;
      const std::uint32_t unit = i / (kStageBlocks * 32);
      const std::uint32_t block = first + i / 32 % kStageBlocks;
      if (unit < units && block < args.blocks()) {
        device::copy_async_16(stage + i * 16, args.unit_weights(first_unit + unit) +
                                                  static_cast<std::uint64_t>(block) * kUnitBytes +
                                                  i % 32 * 16);
      }
    }
  }

  __device__ __forceinline__ void copy_scales(unsigned char* stage, std::uint32_t first) const {
    const std::uint32_t i = threadIdx.x;
    if (i < kUnits * kStageBlocks * 4) {
      const std::uint32_t unit = i / (kStageBlocks * 4);
      const std::uint32_t block = first + i / 4 % kStageBlocks;
      if (unit < units && block < args.blocks()) {
        device::copy_async_16(stage + kLayout.scales() + i * 16,
                              args.unit_scales(first_unit + unit) +
                                  (block >> args.group_shift) * std::uint64_t{kUnitScaleBytes} +
                                  i % 4 * 16);
      }
    }
    if (integer_zeros && i < kUnits * kStageBlocks * 2) {
      const std::uint32_t unit = i / (kStageBlocks * 2);
      const std::uint32_t block = first + i / 2 % kStageBlocks;
      if (unit < units && block < args.blocks()) {
        device::copy_async_16(stage + kLayout.zero_points() + i * 16,
                              args.unit_zero_points(first_unit + unit) +
                                  (block >> args.group_shift) * std::uint64_t{kUnitZeroBytes} +
                                  i % 2 * 16);
      }
    }
  }
};

/// A warp's sums: 32 columns (two tiles of 16) by 64 rows.
struct PrefillSums {
  static constexpr int kM8 = 8;
  Sums16x8 v[2][kM8];
};

/// sums += one block of 32 positions
template <class T>
__device__ __forceinline__ void multiply_block(PrefillSums& sums, const uint4& words,
                                               const ZeroPoints<T> (&zeros)[2], const uint2& scales,
                                               const unsigned char* activation,
                                               std::uint32_t lane) {
  const Fragment16x16 weights[2][2] = {
      {device::scaled<T>(device::centred<T>(words.x, zeros[0]), scales.x),
       device::scaled<T>(device::centred<T>(words.y, zeros[0]), scales.x)},
      {device::scaled<T>(device::centred<T>(words.z, zeros[1]), scales.y),
       device::scaled<T>(device::centred<T>(words.w, zeros[1]), scales.y)}};
#pragma unroll
  for (int m8 = 0; m8 < PrefillSums::kM8; ++m8) {
    const uint4 columns = *reinterpret_cast<const uint4*>(activation + m8 * 512 + lane * 16);
    device::mma<T>(sums.v[0][m8], weights[0][0], columns.x, columns.y);
    device::mma<T>(sums.v[1][m8], weights[1][0], columns.x, columns.y);
    device::mma<T>(sums.v[0][m8], weights[0][1], columns.z, columns.w);
    device::mma<T>(sums.v[1][m8], weights[1][1], columns.z, columns.w);
  }
}

template <class T, bool integer_zeros, int tile_m, int tile_n, int warps_m, int warps_n,
          int warps_k, int stages>
__device__ __forceinline__ void prefill(const Arguments& args) {
  static_assert(tile_m == warps_m * 64 && tile_n == warps_n * 32 && kStageBlocks % warps_k == 0);
  constexpr PrefillLayout kLayout{tile_m, tile_n, warps_k, stages};
  constexpr StageLayout kStage = kLayout.stage();
  constexpr std::uint32_t kThreads = warps_m * warps_n * warps_k * 32;
  extern __shared__ __align__(128) unsigned char shared_memory[];

  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp_n = threadIdx.x / 32 % warps_n;
  const std::uint32_t warp_m = threadIdx.x / 32 / warps_n % warps_m;
  const std::uint32_t warp_k = threadIdx.x / 32 / (warps_n * warps_m);
  const std::uint32_t tiles_m = (args.m - 1) / tile_m + 1;
  const std::uint32_t tiles_n = (args.n - 1) / tile_n + 1;
  const PrefillTile tile(blockIdx.x, tiles_m, tiles_n);
  const std::uint32_t first_row = tile.m * tile_m;
  const std::uint32_t first_unit = tile.n * (tile_n / kUnitColumns);
  const std::uint32_t rows = min(args.m - first_row, static_cast<std::uint32_t>(tile_m));
  const std::uint32_t units = min(args.units() - first_unit, tile_n / kUnitColumns);
  const bool has_work = warp_n < units && warp_m * 64 < rows;

  const PrefillRing<integer_zeros, tile_m, tile_n, kThreads> ring{args, shared_memory, first_row,
                                                                  rows, first_unit,    units};
  if (rows < tile_m) {
    ring.clear_missing_rows(stages);
  }

  PrefillSums sums{};
  const std::uint32_t count = (args.blocks() + kStageBlocks - 1) / kStageBlocks;
  // Copies run stages - 1 ahead of the products, each into the slot that was last read.
  std::uint32_t slot = 1;
  std::uint32_t free_slot = 0;
#pragma unroll 1
  for (std::uint32_t ahead = 0; ahead < count + stages - 1; ++ahead) {
    const bool multiply = ahead >= stages - 1;
    if (multiply) {
      device::copy_async_wait<stages - 2>();
      __syncthreads();
    }
    if (ahead < count) {
      ring.copy(ahead * kStageBlocks, free_slot);
    }
    device::copy_async_commit();
    if (multiply && has_work) {
      const unsigned char* stage = shared_memory + slot * kStage.bytes();
#pragma unroll
      for (std::uint32_t b = 0; b < kStageBlocks / warps_k; ++b) {
        const std::uint32_t in_stage = b * warps_k + warp_k;
        if ((ahead - (stages - 1)) * kStageBlocks + in_stage < args.blocks()) {
          const std::uint32_t place = warp_n * kStageBlocks + in_stage;
          const uint4 words = *reinterpret_cast<const uint4*>(stage + kStage.weights() +
                                                              place * kUnitBytes + lane * 16);
          const uint2 scales = *reinterpret_cast<const uint2*>(
              stage + kStage.scales() + place * kUnitScaleBytes + lane / 4 * 8);
          ZeroPoints<T> zeros[2];
          if constexpr (integer_zeros) {
            const std::uint32_t bytes = *reinterpret_cast<const std::uint32_t*>(
                stage + kStage.zero_points() + place * kUnitZeroBytes + lane / 4 * 4);
            zeros[0] = ZeroPoints<T>(bytes, 0);
            zeros[1] = ZeroPoints<T>(bytes, 1);
          }
          multiply_block<T>(sums, words, zeros, scales,
                            stage + (in_stage * tile_m + warp_m * 64) * 64, lane);
        }
      }
    }
    slot = slot + 1 == stages ? 0 : slot + 1;
    free_slot = free_slot + 1 == stages ? 0 : free_slot + 1;
  }
  device::copy_async_wait<0>();
  __syncthreads();

  // The k-groups' sums, in order, a register of the same lane at a time.
  if constexpr (warps_k > 1) {
    constexpr std::uint32_t kGroupThreads = warps_m * warps_n * 32;
    constexpr std::uint32_t kRegisters = 2 * PrefillSums::kM8 * 4;
    float* partials = reinterpret_cast<float*>(shared_memory) + threadIdx.x % kGroupThreads;
#pragma unroll
    for (std::uint32_t i = 0; i < kRegisters; ++i) {
      if (warp_k > 0) {
        partials[((warp_k - 1) * kRegisters + i) * kGroupThreads] =
            sums.v[i / 32][i / 4 % 8].v[i % 4];
      }
    }
    __syncthreads();
#pragma unroll
    for (std::uint32_t i = 0; i < kRegisters; ++i) {
#pragma unroll
      for (std::uint32_t group = 1; group < warps_k; ++group) {
        if (warp_k == 0) {
          float& sum = sums.v[i / 32][i / 4 % 8].v[i % 4];
          sum = __fadd_rn(sum, partials[((group - 1) * kRegisters + i) * kGroupThreads]);
        }
      }
    }
    __syncthreads();
  }

  // Rounded once, turned in shared memory so that rows leave in whole pieces.
  constexpr std::uint32_t kPitch = kLayout.output_pitch();
  std::uint16_t* output = reinterpret_cast<std::uint16_t*>(shared_memory);
  if (warp_k == 0) {
#pragma unroll
    for (int t16 = 0; t16 < 2; ++t16) {
#pragma unroll
      for (int m8 = 0; m8 < PrefillSums::kM8; ++m8) {
        std::uint16_t* place = output + (warp_m * 64 + m8 * 8 + lane % 4 * 2) * kPitch +
                               warp_n * 32 + t16 * 16 + lane / 4;
        place[0] = T::round(sums.v[t16][m8].v[0]);
        place[kPitch] = T::round(sums.v[t16][m8].v[1]);
        place[8] = T::round(sums.v[t16][m8].v[2]);
        place[kPitch + 8] = T::round(sums.v[t16][m8].v[3]);
      }
    }
  }
  __syncthreads();
  constexpr std::uint32_t kPieces = tile_n / 8;
  for (std::uint32_t i = threadIdx.x; i < rows * kPieces; i += kThreads) {
    const std::uint32_t row = i / kPieces;
    const std::uint32_t column = first_unit * kUnitColumns + i % kPieces * 8;
    if (column < args.n) {
      const uint4 piece = *reinterpret_cast<const uint4*>(output + row * kPitch + i % kPieces * 8);
      std::uint16_t* place = args.c_row(first_row + row) + column;
      if (args.output_vectors != 0) {
        *reinterpret_cast<uint4*>(place) = piece;
      } else {
        const std::uint32_t pairs[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
          place[2 * pair] = static_cast<std::uint16_t>(pairs[pair]);
          place[2 * pair + 1] = static_cast<std::uint16_t>(pairs[pair] >> 16);
        }
      }
    }
  }
}

}  // namespace bitgate::kernels::w4a16

#define BITGATE_ENTRY(tile_m, tile_n, tile_k, warps_m, warps_n, warps_k, stages, TYPE, type,      \
                      INTEGER, zeros)                                                             \
  extern "C" __global__ void __launch_bounds__(warps_m* warps_n* warps_k * 32, 1)                 \
      w4a16_prefill_##tile_m##x##tile_n##x##tile_k##_##type##_##zeros(BITGATE_W4A16_PARAMETERS) { \
    bitgate::kernels::w4a16::prefill<bitgate::kernels::device::TYPE, INTEGER, tile_m, tile_n,     \
                                     warps_m, warps_n, warps_k, stages>(BITGATE_W4A16_ARGUMENTS); \
  }
#define W4A16_PREFILL(tile_m, tile_n, tile_k, warps_m, warps_n, warps_k, stages, BUILT, claims) \
  BUILT(BITGATE_ENTRY, tile_m, tile_n, tile_k, warps_m, warps_n, warps_k, stages)
#include "kernels/kernels.inc"
