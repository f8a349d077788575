#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define BITGATE_HOST_DEVICE __host__ __device__
#else
#define BITGATE_HOST_DEVICE
#endif

/// What host and device agree on: the activation's path and the shared memory of each tile.
namespace bitgate::kernels::w4a16 {

/// How a kernel reads the activation; the host says, from the call's alignment and act-order.
enum class ActivationPath : std::uint32_t {
  vectors,   ///< rows of 16-byte pieces, each aligned
  elements,  ///< rows at any 2-byte alignment
  gathered   ///< element order[p] of the row for position p
};

/// Columns and positions of one unit of the frame, the steps a unit takes in k, and its bytes.
constexpr std::uint32_t kUnitColumns = 32;
constexpr std::uint32_t kBlockK = 32;
constexpr std::uint32_t kUnitBytes = kUnitColumns * kBlockK / 2;
constexpr std::uint32_t kUnitScaleBytes = kUnitColumns * 2;
constexpr std::uint32_t kUnitZeroBytes = kUnitColumns;
/// One stage of a ring, in bytes: the activation as [block][row][32 k], so that the lanes of a warp
/// read 512 consecutive bytes, then weights, scales and zero points as [unit][block][…].
struct StageLayout {
  std::uint32_t blocks;  ///< of 32 k
  std::uint32_t rows;
  std::uint32_t units;

  BITGATE_HOST_DEVICE constexpr std::uint32_t activation() const { return 0; }
  BITGATE_HOST_DEVICE constexpr std::uint32_t weights() const {
    return blocks * rows * kBlockK * 2;
  }
  BITGATE_HOST_DEVICE constexpr std::uint32_t scales() const {
    return weights() + units * blocks * kUnitBytes;
  }
  BITGATE_HOST_DEVICE constexpr std::uint32_t zero_points() const {
    return scales() + units * blocks * kUnitScaleBytes;
  }
  BITGATE_HOST_DEVICE constexpr std::uint32_t bytes() const {
    return zero_points() + units * blocks * kUnitZeroBytes;
  }
};

/// Each k-group of warps has a ring of its own; the partial sums of the groups overlay the rings.
struct GemmLayout {
  std::uint32_t tile_m;
  std::uint32_t tile_k;
  std::uint32_t warps_n;
  std::uint32_t warps_k;
  std::uint32_t stages;

  BITGATE_HOST_DEVICE constexpr StageLayout stage() const {
    return {tile_k / (kBlockK * warps_k), tile_m, warps_n};
  }
  BITGATE_HOST_DEVICE constexpr std::uint32_t ring_bytes() const {
    return stages * stage().bytes();
  }
  /// f32 between rows of partial sums: 4 past a multiple of 32 banks, so that a warp's lanes, two
  /// rows of eight columns apart, store without conflict.
  BITGATE_HOST_DEVICE constexpr std::uint32_t sum_pitch() const {
    return warps_n * kUnitColumns + 4;
  }
  BITGATE_HOST_DEVICE constexpr std::uint32_t sum_bytes() const {
    return warps_k * tile_m * sum_pitch() * 4;
  }
  BITGATE_HOST_DEVICE constexpr std::uint32_t bytes() const {
    return warps_k * ring_bytes() > sum_bytes() ? warps_k * ring_bytes() : sum_bytes();
  }
};

/// Partial sums of the gemv: [warp][row][column] f32.
BITGATE_HOST_DEVICE constexpr std::uint32_t gemv_shared_bytes(std::uint32_t tile_m,
                                                              std::uint32_t warps_k) {
  return warps_k * tile_m * kUnitColumns * 4;
}

/// As for GemmLayout: each k-group of warps has a ring of its own.
struct PrefillLayout {
  std::uint32_t tile_m;
  std::uint32_t tile_n;
  std::uint32_t tile_k;
  std::uint32_t warps_k;
  std::uint32_t stages;

  BITGATE_HOST_DEVICE constexpr StageLayout stage() const {
    return {tile_k / (kBlockK * warps_k), tile_m, tile_n / kUnitColumns};
  }
  BITGATE_HOST_DEVICE constexpr std::uint32_t ring_bytes() const {
    return stages * stage().bytes();
  }
  /// Elements between rows of the output tile: 16-byte rows that start four banks apart.
  BITGATE_HOST_DEVICE constexpr std::uint32_t output_pitch() const { return tile_n + 8; }
  BITGATE_HOST_DEVICE constexpr std::uint32_t output_bytes() const {
    return tile_m * output_pitch() * 2;
  }
  /// f32 sums of all k-groups, where there are several.
  BITGATE_HOST_DEVICE constexpr std::uint32_t sum_bytes() const {
    return warps_k > 1 ? warps_k * tile_m * tile_n * 4 : 0;
  }
  BITGATE_HOST_DEVICE constexpr std::uint32_t bytes() const {
    const std::uint32_t epilogue = output_bytes() > sum_bytes() ? output_bytes() : sum_bytes();
    return warps_k * ring_bytes() > epilogue ? warps_k * ring_bytes() : epilogue;
  }
};

}  // namespace bitgate::kernels::w4a16
