// Tensor-core GEMM for few rows: tile_m activation rows against warps_n units of 32 columns, K cut
// into warps_k contiguous ranges. Weights are the 16-row operand, so that a row of the tile costs
// nothing beyond the 8 that one product holds. Bound by reading the weights once.

#include <cstdint>

#include "kernels/common/copy.cuh"
#include "kernels/common/dequantize.cuh"
#include "kernels/common/element.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/register.cuh"
#include "kernels/w4a16/arguments.cuh"
#include "kernels/w4a16/tile_layout.h"

namespace bitgate::kernels::w4a16 {

using device::Fragment16x16;
using device::Sums16x8;
using device::ZeroPoints;

/// The ring of one k-group of warps: what each thread copies into a stage, and from where. Blocks
/// past the end of the range, and rows past M, are zeros.
template <bool integer_zeros, int tile_m, int stage_blocks, int warps_n>
class GemmRing {
 public:
  static constexpr StageLayout kLayout{stage_blocks, tile_m, warps_n};

  __device__ __forceinline__ GemmRing(const Arguments& arguments, std::uint32_t ring_memory,
                                      std::uint32_t range_begin, std::uint32_t range_end,
                                      std::uint32_t first_row, std::uint32_t row_count,
                                      std::uint32_t first_unit, std::uint32_t thread)
      : args(arguments),
        shared(ring_memory),
        begin(range_begin),
        end(range_end),
        rows(row_count),
        unit(first_unit + thread / 32),
        unit_exists(unit < args.units()),
        lane(thread % 32),
        row0(thread / kRowPieces),
        piece(thread % kRowPieces),
        a_source(args.a_row(first_row + row0) + begin * kBlockK + piece * 8),
        row_step(static_cast<std::int64_t>(kRowStep) * args.lda),
        a_place((piece / 4 * tile_m + row0) * 64 + piece % 4 * 16),
        weight_source(args.unit_weights(unit) + static_cast<std::uint64_t>(begin) * kUnitBytes +
                      lane * 16),
        weight_place(kLayout.weights() + thread / 32 * stage_blocks * kUnitBytes + lane * 16),
        scale_source(args.unit_scales(unit) + lane % 4 * 16),
        scale_place(kLayout.scales() + thread / 32 * stage_blocks * kUnitScaleBytes + lane * 16),
        zero_source(args.unit_zero_points(unit) + lane % 2 * 16),
        zero_place(kLayout.zero_points() + thread / 32 * stage_blocks * kUnitZeroBytes +
                   lane * 16) {
    device::keep(row0);
    device::keep(piece);
    device::keep(a_source);
    device::keep(row_step);
    device::keep(a_place);
    device::keep(weight_source);
    device::keep(weight_place);
    device::keep(scale_source);
    device::keep(scale_place);
  }

  /// No copy ever touches a missing row again.
  __device__ __forceinline__ void clear_missing_rows(int stages) const {
    for (std::uint32_t row = rows + row0; row < tile_m; row += kRowStep) {
      for (int stage = 0; stage < stages; ++stage) {
        device::store_shared_16(shared + stage * kLayout.bytes() + a_place + (row - row0) * 64,
                                uint4{});
      }
    }
  }

  /// The next stage of the range into `slot`.
  __device__ __forceinline__ void copy_next(std::uint32_t slot) {
    const std::uint32_t stage = shared + slot * kLayout.bytes();
    copy_activation(stage);
    if (unit_exists) {
#pragma unroll
      for (std::uint32_t b = 0; b < stage_blocks; ++b) {
        device::copy_async_16(stage + weight_place + b * kUnitBytes, weight_source + b * kUnitBytes,
                              begin + b < end);
      }
      copy_scales(stage);
    }
    begin += stage_blocks;
    a_source += stage_blocks * kBlockK;
    weight_source += stage_blocks * kUnitBytes;
  }

 private:
  static constexpr std::uint32_t kThreads = warps_n * 32;
  static constexpr std::uint32_t kRowPieces = stage_blocks * 4;
  static constexpr std::uint32_t kRowStep = kThreads / kRowPieces;
  static_assert(kThreads % kRowPieces == 0 && stage_blocks <= 4);

  __device__ __forceinline__ void copy_activation(std::uint32_t stage) const {
    const bool exists = begin + piece / 4 < end;
    if (args.path == ActivationPath::vectors) {
#pragma unroll
      for (std::uint32_t i = 0; i * kRowStep < tile_m; ++i) {
        if (row0 + i * kRowStep < rows) {
          device::copy_async_16(stage + a_place + i * kRowStep * 64, a_source + i * row_step,
                                exists);
        }
      }
    } else {
#pragma unroll 1
      for (std::uint32_t i = 0; row0 + i * kRowStep < rows; ++i) {
        const std::uint32_t position = begin * kBlockK + piece * 8;
        device::store_shared_16(
            stage + a_place + i * kRowStep * 64,
            exists ? load_activation(args, a_source + i * row_step - position, position) : uint4{});
      }
    }
  }

  /// Four lanes bring the scales of each block that ends a run, two the zero points of each block.
  __device__ __forceinline__ void copy_scales(std::uint32_t stage) const {
    if (lane < stage_blocks * 4) {
      const std::uint32_t block = begin + lane / 4;
      if (block < end && (args.ends_group(block) || block + 1 == end)) {
        device::copy_async_16(
            stage + scale_place,
            scale_source + (block >> args.group_shift) * std::uint64_t{kUnitScaleBytes}, true);
      }
    }
    if (integer_zeros && lane < stage_blocks * 2) {
      const std::uint32_t block = begin + lane / 2;
      device::copy_async_16(
          stage + zero_place,
          zero_source + (block >> args.group_shift) * std::uint64_t{kUnitZeroBytes}, block < end);
    }
  }

  const Arguments& args;
  std::uint32_t shared;
  std::uint32_t begin;  ///< first block of the next stage
  std::uint32_t end;    ///< of the k-group's range
  std::uint32_t rows;   ///< of the tile that exist, ≤ tile_m
  std::uint32_t unit;
  bool unit_exists;
  std::uint32_t lane;
  std::uint32_t row0;   ///< this thread copies every kRowStep-th row from here
  std::uint32_t piece;  ///< and this 16-byte piece of it
  const std::uint16_t* a_source;
  std::int64_t row_step;
  std::uint32_t a_place;
  const unsigned char* weight_source;
  std::uint32_t weight_place;
  const unsigned char* scale_source;
  std::uint32_t scale_place;
  const unsigned char* zero_source;
  std::uint32_t zero_place;
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

  /// this += a block of 32 positions; `activation` is the lane's place in it.
  template <class T>
  __device__ __forceinline__ void add_block(const uint4& words, const ZeroPoints<T> (&zeros)[2],
                                            const unsigned char* activation) {
    const Fragment16x16 weights[2][2] = {
        {device::centred<T>(words.x, zeros[0]), device::centred<T>(words.y, zeros[0])},
        {device::centred<T>(words.z, zeros[1]), device::centred<T>(words.w, zeros[1])}};
#pragma unroll
    for (int m8 = 0; m8 < tile_m / 8; ++m8) {
      const uint4 columns = *reinterpret_cast<const uint4*>(activation + m8 * 512);
      device::mma<T>(v[0][m8], weights[0][0], columns.x, columns.y);
      device::mma<T>(v[1][m8], weights[1][0], columns.x, columns.y);
      device::mma<T>(v[0][m8], weights[0][1], columns.z, columns.w);
      device::mma<T>(v[1][m8], weights[1][1], columns.z, columns.w);
    }
  }

  /// this = fma(scale, part, this)
  template <class T>
  __device__ __forceinline__ void add_scaled(const WarpSums& part, const uint2& scales) {
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const std::uint32_t pair = tile == 0 ? scales.x : scales.y;
      const float first = T::low_to_float(pair);
      const float second = T::high_to_float(pair);
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

template <class T, bool integer_zeros, int tile_m, int tile_k, int warps_n, int warps_k, int stages>
__device__ __forceinline__ void gemm(const Arguments& args) {
  constexpr GemmLayout kLayout{tile_m, tile_k, warps_n, warps_k, stages};
  constexpr StageLayout kStage = kLayout.stage();
  constexpr int kBlocks = kStage.blocks;
  constexpr std::uint32_t kTileN = warps_n * kUnitColumns;
  static_assert(tile_k == kBlocks * kBlockK * warps_k);
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
  const std::uint32_t count = (end - begin + kBlocks - 1) / kBlocks;
  const bool unit_exists = first_unit + warp_n < args.units();

  unsigned char* const ring_memory = shared_memory + warp_k * kLayout.ring_bytes();
  GemmRing<integer_zeros, tile_m, kBlocks, warps_n> ring(args, device::shared_address(ring_memory),
                                                         begin, end, first_row, rows, first_unit,
                                                         warp_n * 32 + lane);
  ring.clear_missing_rows(stages);

  WarpSums<tile_m> sums;
  WarpSums<tile_m> part;
  sums.clear();
  part.clear();
  // Copies run stages - 1 ahead of the products, each into the slot that was last read.
  std::uint32_t block = begin;
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
      ring.copy_next(free_slot);
    }
    device::copy_async_commit();
    if (multiply && unit_exists) {
      const unsigned char* stage = ring_memory + slot * kStage.bytes();
      const unsigned char* activation = stage + kStage.activation() + lane * 16;
      const unsigned char* weights =
          stage + kStage.weights() + warp_n * kBlocks * kUnitBytes + lane * 16;
      const unsigned char* scales =
          stage + kStage.scales() + warp_n * kBlocks * kUnitScaleBytes + lane / 4 * 8;
      const unsigned char* zero_points =
          stage + kStage.zero_points() + warp_n * kBlocks * kUnitZeroBytes + lane / 4 * 4;
      uint4 words[kBlocks];
      std::uint32_t zero_bytes[kBlocks];
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        words[b] = *reinterpret_cast<const uint4*>(weights + b * kUnitBytes);
        zero_bytes[b] =
            integer_zeros
                ? *reinterpret_cast<const std::uint32_t*>(zero_points + b * kUnitZeroBytes)
                : 0;
      }
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        ZeroPoints<T> zeros[2];
        if constexpr (integer_zeros) {
          zeros[0] = ZeroPoints<T>(zero_bytes[b], 0);
          zeros[1] = ZeroPoints<T>(zero_bytes[b], 1);
        }
        part.template add_block<T>(words[b], zeros, activation + b * tile_m * 64);
        if (block + b + 1 == end || (block + b < end && args.ends_group(block + b))) {
          const uint2 pairs = *reinterpret_cast<const uint2*>(scales + b * kUnitScaleBytes);
          sums.template add_scaled<T>(part, pairs);
          part.clear();
        }
      }
      block += kBlocks;
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
    bitgate::kernels::w4a16::gemm<bitgate::kernels::device::TYPE, INTEGER, tile_m, tile_k,     \
                                  warps_n, warps_k, stages>(BITGATE_W4A16_ARGUMENTS);          \
  }
#define W4A16_GEMM(tile_m, tile_n, tile_k, warps_n, warps_k, stages, BUILT, claims) \
  BUILT(BITGATE_ENTRY, tile_m, tile_n, tile_k, warps_n, warps_k, stages)
#include "kernels/kernels.inc"
