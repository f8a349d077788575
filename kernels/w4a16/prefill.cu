// Tensor-core GEMM for many rows: the tile is shared by warps_m x warps_n warps in each of warps_k
// groups, which take stages of K in turn and meet only at the end. Weights are rounded to the
// element type as scale · (q - z); products run in one f32 chain a k-group. Bound by the tensor
// cores, so everything else is kept out of their way: copies are spread, addresses stay in
// registers, and unpacking runs ahead.

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

/// The ring of one k-group of warps: what each thread copies into a stage, and from where. The
/// groups take the stages of K in turn. Blocks past K, rows past M and units past N are zeros.
template <bool integer_zeros, int tile_m, int tile_n, int stage_blocks, int warps_k, int threads>
class PrefillRing {
 public:
  static constexpr StageLayout kLayout{stage_blocks, tile_m, tile_n / kUnitColumns};

  __device__ __forceinline__ PrefillRing(const Arguments& arguments, std::uint32_t ring_memory,
                                         std::uint32_t first_row, std::uint32_t row_count,
                                         std::uint32_t first_unit, std::uint32_t warp_k)
      : args(arguments), thread(threadIdx.x % threads), begin(warp_k * kBlocks) {
    const std::uint32_t row0 = thread / kRowPieces;
    const std::uint32_t piece = thread % kRowPieces;
    rows = row_count > row0 ? (row_count - row0 + kRowStep - 1) / kRowStep : 0;
    vector_rows = args.path == ActivationPath::vectors ? rows : 0;
    row_source = args.a_row(first_row + row0) + begin * kBlockK + piece * 8;
    row_step = static_cast<std::int64_t>(kRowStep) * args.lda;
    row_place =
        ring_memory + kLayout.activation() + (piece / 4 * tile_m + row0) * 64 + piece % 4 * 16;
    row_blocks = blocks_left(piece / 4);
    weight_place = ring_memory + kLayout.weights() + thread * 16;
#pragma unroll
    for (std::uint32_t i = 0; i < kWeightCopies; ++i) {
      const std::uint32_t copied = i * threads + thread;
      const std::uint32_t unit = first_unit + copied / (kBlocks * 32);
      weight_source[i] = args.unit_weights(unit) + static_cast<std::uint64_t>(begin) * kUnitBytes +
                         copied % (kBlocks * 32) * 16;
      weight_blocks[i] = unit < args.units() ? blocks_left(copied / 32 % kBlocks) : 0;
      device::keep(weight_source[i]);
      device::keep(weight_blocks[i]);
    }
    const std::uint32_t scale_unit = first_unit + thread / (kBlocks * 4);
    scale_source = args.unit_scales(scale_unit) + thread % 4 * 16;
    scale_place = ring_memory + kLayout.scales() + thread * 16;
    scale_block = thread / 4 % kBlocks;
    scale_blocks = scale_unit < args.units() ? args.blocks() : 0;
    const std::uint32_t zero_unit = first_unit + thread / (kBlocks * 2);
    zero_source = args.unit_zero_points(zero_unit) + thread % 2 * 16;
    zero_place = ring_memory + kLayout.zero_points() + thread * 16;
    zero_block = thread / 2 % kBlocks;
    zero_blocks = zero_unit < args.units() ? args.blocks() : 0;
    device::keep(vector_rows);
    device::keep(row_source);
    device::keep(row_step);
    device::keep(row_place);
    device::keep(row_blocks);
    device::keep(weight_place);
    device::keep(scale_source);
    device::keep(scale_place);
    device::keep(scale_block);
    device::keep(scale_blocks);
  }

  /// No copy ever touches a missing row again.
  __device__ __forceinline__ void clear_missing_rows(int stages) const {
    for (std::uint32_t i = rows; i < kRowCopies; ++i) {
      for (int stage = 0; stage < stages; ++stage) {
        device::store_shared_16(row_place + stage * kLayout.bytes() + i * kRowStep * 64, uint4{});
      }
    }
  }

  /// Part `part` of `parts` of copying the next stage of K to `offset` in the ring: copies queue up
  /// with the loads from shared memory, so a stage's are spread among the products of a block. The
  /// last part moves on to the stage after.
  __device__ __forceinline__ void copy_part(std::uint32_t offset, std::uint32_t part,
                                            std::uint32_t parts) {
    constexpr std::uint32_t kPieces = kRowCopies + kWeightCopies + 1;
#pragma unroll
    for (std::uint32_t i = 0; i < kPieces; ++i) {
      if (i * parts / kPieces != part) {
        continue;
      }
      if (i < kRowCopies) {
        copy_row(offset, i);
      } else if (i < kRowCopies + kWeightCopies) {
        copy_weights(offset, i - kRowCopies);
      } else {
        copy_scales(offset);
      }
    }
    if (part + 1 == parts) {
      if (args.path != ActivationPath::vectors) {
        load_rows(offset);
      }
      begin += kBlocks * warps_k;
      row_source += kBlocks * warps_k * kBlockK - row_step * kRowCopies;
      device::keep(row_source);
    }
  }

 private:
  static constexpr std::uint32_t kBlocks = stage_blocks;
  static constexpr std::uint32_t kUnits = tile_n / kUnitColumns;
  static constexpr std::uint32_t kRowPieces = kBlocks * 4;
  static constexpr std::uint32_t kRowStep = threads / kRowPieces;
  static constexpr std::uint32_t kRowCopies = tile_m / kRowStep;
  static constexpr std::uint32_t kWeightCopies = (kUnits * kBlocks * 32 + threads - 1) / threads;
  static_assert(threads % kRowPieces == 0 && tile_m % kRowStep == 0 &&
                kUnits * kBlocks * 4 <= threads);

  /// A stage that begins below this has its block `block` inside K.
  __device__ __forceinline__ std::uint32_t blocks_left(std::uint32_t block) const {
    return args.blocks() > block ? args.blocks() - block : 0;
  }

  /// This thread's i-th row, where rows are whole vectors; `row_source` goes from row to row.
  __device__ __forceinline__ void copy_row(std::uint32_t offset, std::uint32_t i) {
    if (i < vector_rows) {
      device::copy_async_16(row_place + offset + i * kRowStep * 64, row_source, begin < row_blocks);
    }
    row_source += row_step;
    device::keep(row_source);
  }

  /// All rows of this thread, element by element; `row_source` is past them.
  __device__ __forceinline__ void load_rows(std::uint32_t offset) const {
    const std::uint32_t position = begin * kBlockK + thread % kRowPieces * 8;
    const std::uint16_t* row = row_source - row_step * kRowCopies - position;
#pragma unroll 1
    for (std::uint32_t i = 0; i < rows; ++i) {
      device::store_shared_16(row_place + offset + i * kRowStep * 64,
                              begin < row_blocks ? load_activation(args, row, position) : uint4{});
      row += row_step;
    }
  }

  __device__ __forceinline__ void copy_weights(std::uint32_t offset, std::uint32_t i) {
    if ((i + 1) * threads <= kUnits * kBlocks * 32 ||
        i * threads + thread < kUnits * kBlocks * 32) {
      device::copy_async_16(weight_place + offset + i * threads * 16, weight_source[i],
                            begin < weight_blocks[i]);
    }
    weight_source[i] += kBlocks * warps_k * kUnitBytes;
  }

  __device__ __forceinline__ void copy_scales(std::uint32_t offset) const {
    if (thread < kUnits * kBlocks * 4) {
      const std::uint32_t block = begin + scale_block;
      device::copy_async_16(
          scale_place + offset,
          scale_source + (block >> args.group_shift) * std::uint64_t{kUnitScaleBytes},
          block < scale_blocks);
    }
    if (integer_zeros && thread < kUnits * kBlocks * 2) {
      const std::uint32_t block = begin + zero_block;
      device::copy_async_16(
          zero_place + offset,
          zero_source + (block >> args.group_shift) * std::uint64_t{kUnitZeroBytes},
          block < zero_blocks);
    }
  }

  const Arguments& args;
  std::uint32_t thread;       ///< of the k-group
  std::uint32_t begin;        ///< first block of the next stage
  std::uint32_t rows;         ///< that exist, of the kRowCopies that this thread brings a piece of
  std::uint32_t vector_rows;  ///< so many of them by asynchronous copies
  const std::uint16_t* row_source;
  std::int64_t row_step;
  std::uint32_t row_place;
  std::uint32_t row_blocks;
  const unsigned char* weight_source[kWeightCopies];
  std::uint32_t weight_place;
  std::uint32_t weight_blocks[kWeightCopies];
  const unsigned char* scale_source;
  std::uint32_t scale_place;
  std::uint32_t scale_block;
  std::uint32_t scale_blocks;
  const unsigned char* zero_source;
  std::uint32_t zero_place;
  std::uint32_t zero_block;
  std::uint32_t zero_blocks;
};

/// 16 columns by 32 positions on their way to the tensor cores.
template <class T, bool integer_zeros>
struct WeightTile {
  uint2 words;           ///< of the two k16 steps
  std::uint32_t scales;  ///< of columns g and g+8
  std::uint32_t zeros;   ///< likewise, in the low two bytes

  /// The fragment of each k16 step.
  __device__ __forceinline__ void dequantize(Fragment16x16 (&steps)[2]) const {
    ZeroPoints<T> zero_points;
    if constexpr (integer_zeros) {
      zero_points = ZeroPoints<T>(zeros, 0);
    }
    const device::ScalePairs pairs(scales);
    steps[0] = device::scaled<T>(device::centred<T>(words.x, zero_points), pairs);
    steps[1] = device::scaled<T>(device::centred<T>(words.y, zero_points), pairs);
  }
};

/// Where a warp's tiles of 16 columns lie in a stage.
template <class T, bool integer_zeros, int tiles>
class WeightTiles {
 public:
  __device__ __forceinline__ WeightTiles(const StageLayout& layout, std::uint32_t first_tile,
                                         std::uint32_t lane) {
#pragma unroll
    for (std::uint32_t i = 0; i < kPlaces; ++i) {
      const std::uint32_t tile = first_tile + i;
      const std::uint32_t place = tile / 2 * layout.blocks;
      words[i] = layout.weights() + place * kUnitBytes + lane * 16 + tile % 2 * 8;
      scales[i] = layout.scales() + place * kUnitScaleBytes + lane / 4 * 8 + tile % 2 * 4;
      zeros[i] = layout.zero_points() + place * kUnitZeroBytes + lane / 4 * 4 + tile % 2 * 2;
      device::keep(words[i]);
      device::keep(scales[i]);
    }
  }

  /// The tiles of block `block` of a stage of `blocks`.
  __device__ __forceinline__ void load(WeightTile<T, integer_zeros> (&to)[tiles],
                                       const unsigned char* stage, std::uint32_t blocks,
                                       std::uint32_t block) const {
    if constexpr (kWholeUnits) {
#pragma unroll
      for (std::uint32_t unit = 0; unit < tiles / 2; ++unit) {
        const std::uint32_t place = unit * blocks + block;
        const uint4 four = *reinterpret_cast<const uint4*>(stage + words[0] + place * kUnitBytes);
        const uint2 two =
            *reinterpret_cast<const uint2*>(stage + scales[0] + place * kUnitScaleBytes);
        to[2 * unit].words = make_uint2(four.x, four.y);
        to[2 * unit + 1].words = make_uint2(four.z, four.w);
        to[2 * unit].scales = two.x;
        to[2 * unit + 1].scales = two.y;
        if constexpr (integer_zeros) {
          to[2 * unit].zeros =
              *reinterpret_cast<const std::uint32_t*>(stage + zeros[0] + place * kUnitZeroBytes);
          to[2 * unit + 1].zeros = to[2 * unit].zeros >> 16;
        }
      }
    } else {
#pragma unroll
      for (std::uint32_t tile = 0; tile < tiles; ++tile) {
        to[tile].words = *reinterpret_cast<const uint2*>(stage + words[tile] + block * kUnitBytes);
        to[tile].scales =
            *reinterpret_cast<const std::uint32_t*>(stage + scales[tile] + block * kUnitScaleBytes);
        if constexpr (integer_zeros) {
          to[tile].zeros =
              *reinterpret_cast<const std::uint16_t*>(stage + zeros[tile] + block * kUnitZeroBytes);
        }
      }
    }
  }

 private:
  /// A warp with an even number of tiles starts with a unit and loads whole ones.
  static constexpr bool kWholeUnits = tiles % 2 == 0;
  static constexpr std::uint32_t kPlaces = kWholeUnits ? 1 : tiles;
  std::uint32_t words[kPlaces];
  std::uint32_t scales[kPlaces];
  std::uint32_t zeros[kPlaces];
};

/// A warp's sums: `tiles` of 16 columns by 8 · m8s rows.
template <int tiles, int m8s>
struct PrefillSums {
  static constexpr int kProducts = tiles * m8s;
  Sums16x8 v[tiles][m8s];

  __device__ __forceinline__ Sums16x8& at(int product) { return v[product / m8s][product % m8s]; }

  /// What add_block does in turn: tiles where rows are few enough to hold their activation, else
  /// rows, 32 at a time.
  static constexpr bool kTilesInTurn = m8s <= 8;
  static constexpr std::uint32_t kTurns = kTilesInTurn ? tiles : m8s / 4;
  static constexpr int kFragments = kTilesInTurn ? 1 : tiles;

  /// this += a block of 32 positions; `activation` is the lane's place in it. Weights are unpacked
  /// while others are multiplied: `weights` are those that the block starts with, and become those
  /// that the `next` starts with. `between(turn)` runs after each turn.
  template <class T, bool integer_zeros, class Between>
  __device__ __forceinline__ void add_block(Fragment16x16 (&weights)[kFragments][2],
                                            const WeightTile<T, integer_zeros> (&block)[tiles],
                                            const WeightTile<T, integer_zeros> (&next)[tiles],
                                            const unsigned char* activation,
                                            const Between& between) {
    if constexpr (kTilesInTurn) {
      uint4 columns[m8s];
      load_columns(columns, activation);
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        Fragment16x16 following[2];
        (tile + 1 < tiles ? block[tile + 1] : next[0]).dequantize(following);
        multiply<T>(v[tile], weights[0], columns);
        weights[0][0] = following[0];
        weights[0][1] = following[1];
        between(static_cast<std::uint32_t>(tile));
      }
    } else {
      Fragment16x16 following[tiles][2];
#pragma unroll
      for (int turn = 0; turn < static_cast<int>(kTurns); ++turn) {
        uint4 columns[4];
        load_columns(columns, activation + turn * 4 * 512);
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile) {
          if (tile * static_cast<int>(kTurns) / tiles == turn) {
            next[tile].dequantize(following[tile]);
          }
        }
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            device::mma<T>(v[tile][turn * 4 + i], weights[tile][0], columns[i].x, columns[i].y);
          }
        }
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            device::mma<T>(v[tile][turn * 4 + i], weights[tile][1], columns[i].z, columns[i].w);
          }
        }
        between(static_cast<std::uint32_t>(turn));
      }
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        weights[tile][0] = following[tile][0];
        weights[tile][1] = following[tile][1];
      }
    }
  }

 private:
  template <int count>
  static __device__ __forceinline__ void load_columns(uint4 (&columns)[count],
                                                      const unsigned char* activation) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      columns[i] = *reinterpret_cast<const uint4*>(activation + i * 512);
    }
  }

  template <class T>
  static __device__ __forceinline__ void multiply(Sums16x8 (&sums)[m8s],
                                                  const Fragment16x16 (&weights)[2],
                                                  const uint4 (&columns)[m8s]) {
#pragma unroll
    for (int i = 0; i < m8s; ++i) {
      device::mma<T>(sums[i], weights[0], columns[i].x, columns[i].y);
    }
#pragma unroll
    for (int i = 0; i < m8s; ++i) {
      device::mma<T>(sums[i], weights[1], columns[i].z, columns[i].w);
    }
  }
};

template <class T, bool integer_zeros, int tile_m, int tile_n, int tile_k, int warps_m, int warps_n,
          int warps_k, int stages>
__device__ __forceinline__ void prefill(const Arguments& args) {
  constexpr PrefillLayout kLayout{tile_m, tile_n, tile_k, warps_k, stages};
  constexpr StageLayout kStage = kLayout.stage();
  constexpr std::uint32_t kThreads = warps_m * warps_n * warps_k * 32;
  constexpr int kBlocks = kStage.blocks;
  constexpr std::uint32_t kGroupThreads = warps_m * warps_n * 32;
  constexpr std::uint32_t kWarpRows = tile_m / warps_m;
  constexpr std::uint32_t kWarpColumns = tile_n / warps_n;
  constexpr int kTiles = kWarpColumns / 16;
  static_assert(kWarpRows % 8 == 0 && kWarpColumns % 16 == 0 && tile_n % kUnitColumns == 0);
  static_assert(tile_k == kBlocks * warps_k * kBlockK);
  static_assert(kBlocks % 2 == 0, "the two buffers of codes alternate");
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
  const std::uint32_t all_stages = (args.blocks() + kBlocks - 1) / kBlocks;
  const std::uint32_t count =
      all_stages > warp_k ? (all_stages - warp_k + warps_k - 1) / warps_k : 0;

  const unsigned char* const ring_memory = shared_memory + warp_k * kLayout.ring_bytes();
  PrefillRing<integer_zeros, tile_m, tile_n, kBlocks, warps_k, kGroupThreads> ring(
      args, device::shared_address(ring_memory), first_row, rows, first_unit, warp_k);
  ring.clear_missing_rows(stages);
#pragma unroll 1
  for (std::uint32_t s = 0; s < stages - 1; ++s) {
    ring.copy_part(s * kStage.bytes(), 0, 1);
    device::copy_async_commit();
  }

  // A block's codes are fetched while the block before it is multiplied, so the next stage has to
  // arrive one block early.
  using Sums = PrefillSums<kTiles, kWarpRows / 8>;
  Sums sums{};
  WeightTile<T, integer_zeros> codes[2][kTiles] = {};
  const WeightTiles<T, integer_zeros, kTiles> tiles(kStage, warp_n * kTiles, lane);
  std::uint32_t activation_place = kStage.activation() + warp_m * kWarpRows * 64 + lane * 16;
  device::keep(activation_place);
  std::uint32_t offset = 0;  // of the stage that is multiplied, of the next, of the one to fill
  std::uint32_t next_offset = kStage.bytes();
  std::uint32_t fill_offset = (stages - 1) * kStage.bytes();
  const int barrier = static_cast<int>(warp_k) + 1;
  device::copy_async_wait<stages - 2>();
  device::synchronize_warps<warps_m * warps_n>(barrier);
  tiles.load(codes[0], ring_memory, kBlocks, 0);
  Fragment16x16 weights[Sums::kFragments][2];
#pragma unroll
  for (int tile = 0; tile < Sums::kFragments; ++tile) {
    codes[0][tile].dequantize(weights[tile]);
  }
#pragma unroll 1
  for (std::uint32_t index = 0; index < count; ++index) {
    const unsigned char* const activation = ring_memory + offset + activation_place;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const bool last = b + 1 == kBlocks;
      if (last) {
        device::copy_async_commit();
        device::copy_async_wait<stages - 3>();
        device::synchronize_warps<warps_m * warps_n>(barrier);
      }
      tiles.load(codes[(b + 1) % 2], ring_memory + (last ? next_offset : offset), kBlocks,
                 last ? 0 : b + 1);
      sums.add_block(weights, codes[b % 2], codes[(b + 1) % 2], activation + b * tile_m * 64,
                     [&](std::uint32_t turn) {
                       if (last) {
                         ring.copy_part(fill_offset, turn, Sums::kTurns);
                       }
                     });
    }
    fill_offset = offset;
    offset = next_offset;
    next_offset =
        next_offset + kStage.bytes() == kLayout.ring_bytes() ? 0 : next_offset + kStage.bytes();
  }
  // The copies of the last turn are in no group yet, and a wait is for groups alone: without the
  // commit they could land in what now becomes the sums' memory.
  device::copy_async_commit();
  device::copy_async_wait<0>();
  __syncthreads();

  // Each k-group finishes its share of the sums: the groups' are added in order, rounded once and
  // turned in shared memory, so that rows leave in whole pieces.
  constexpr int kShare = sums.kProducts / warps_k;
  static_assert(sums.kProducts % warps_k == 0);
  float4* partials = reinterpret_cast<float4*>(shared_memory) + threadIdx.x % kGroupThreads;
  if constexpr (warps_k > 1) {
#pragma unroll
    for (int product = 0; product < sums.kProducts; ++product) {
      if (product / kShare != static_cast<int>(warp_k)) {
        const Sums16x8& sum = sums.at(product);
        partials[(static_cast<int>(warp_k) * sums.kProducts + product) * kGroupThreads] =
            make_float4(sum.v[0], sum.v[1], sum.v[2], sum.v[3]);
      }
    }
    __syncthreads();
#pragma unroll
    for (int product = 0; product < sums.kProducts; ++product) {
      if (product / kShare == static_cast<int>(warp_k)) {
        const Sums16x8 own = sums.at(product);
        Sums16x8 sum = own;
#pragma unroll
        for (int group = 0; group < warps_k; ++group) {
          Sums16x8 part = own;
          if (group != product / kShare) {
            const float4 other = partials[(group * sums.kProducts + product) * kGroupThreads];
            part = {{other.x, other.y, other.z, other.w}};
          }
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            sum.v[i] = group == 0 ? part.v[i] : __fadd_rn(sum.v[i], part.v[i]);
          }
        }
        sums.at(product) = sum;
      }
    }
    __syncthreads();
  }
  constexpr std::uint32_t kPitch = kLayout.output_pitch();
  std::uint16_t* output = reinterpret_cast<std::uint16_t*>(shared_memory);
#pragma unroll
  for (int product = 0; product < sums.kProducts; ++product) {
    if (product / kShare == static_cast<int>(warp_k)) {
      const int tile16 = product / (kWarpRows / 8);
      const int m8 = product % (kWarpRows / 8);
      const Sums16x8& sum = sums.at(product);
      std::uint16_t* place = output + (warp_m * kWarpRows + m8 * 8 + lane % 4 * 2) * kPitch +
                             warp_n * kWarpColumns + tile16 * 16 + lane / 4;
      place[0] = T::round(sum.v[0]);
      place[kPitch] = T::round(sum.v[1]);
      place[8] = T::round(sum.v[2]);
      place[kPitch + 8] = T::round(sum.v[3]);
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

#define BITGATE_ENTRY(tile_m, tile_n, tile_k, warps_m, warps_n, warps_k, stages, resident, TYPE,  \
                      type, INTEGER, zeros)                                                       \
  extern "C" __global__ void __launch_bounds__(warps_m* warps_n* warps_k * 32, resident)          \
      w4a16_prefill_##tile_m##x##tile_n##x##tile_k##_##type##_##zeros(BITGATE_W4A16_PARAMETERS) { \
    bitgate::kernels::w4a16::prefill<bitgate::kernels::device::TYPE, INTEGER, tile_m, tile_n,     \
                                     tile_k, warps_m, warps_n, warps_k, stages>(                  \
        BITGATE_W4A16_ARGUMENTS);                                                                 \
  }
#define W4A16_PREFILL(tile_m, tile_n, tile_k, warps_m, warps_n, warps_k, stages, resident, BUILT, \
                      claims)                                                                     \
  BUILT(BITGATE_ENTRY, tile_m, tile_n, tile_k, warps_m, warps_n, warps_k, stages, resident)
#include "kernels/kernels.inc"
