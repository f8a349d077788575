#include "kernels/w4a16/tile_grid.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "kernels/w4a16/tile_layout.h"

namespace bitgate::kernels::w4a16 {

namespace {

std::int64_t tiles(std::int64_t size, int tile) { return (size + tile - 1) / tile; }

/// Tiles of rows that the prefill kernel takes together.
constexpr std::int64_t kBand = 8;

}  // namespace

TileGrid::TileGrid(const Geometry& geometry, const Shape& shape)
    : tiles_m_(tiles(shape.m, geometry.tile_m)),
      tiles_n_(tiles(shape.n, geometry.tile_n)),
      banded_(geometry.variant == "prefill") {}

std::uint32_t TileGrid::block_of(std::int64_t tile_m, std::int64_t tile_n) const {
  if (!banded_) {
    return static_cast<std::uint32_t>(tile_m * tiles_n_ + tile_n);
  }
  const std::int64_t band = tile_m / kBand;
  const std::int64_t height = std::min(tiles_m_ - band * kBand, kBand);
  return static_cast<std::uint32_t>(band * kBand * tiles_n_ + tile_n * height + tile_m % kBand);
}

std::uint32_t threads(const Geometry& geometry) {
  return static_cast<std::uint32_t>(geometry.warps_m * geometry.warps_n * geometry.warps_k * 32);
}

std::uint32_t shared_bytes(const Geometry& geometry) {
  const auto tile_m = static_cast<std::uint32_t>(geometry.tile_m);
  const auto tile_n = static_cast<std::uint32_t>(geometry.tile_n);
  const auto tile_k = static_cast<std::uint32_t>(geometry.tile_k);
  const auto warps_n = static_cast<std::uint32_t>(geometry.warps_n);
  const auto warps_k = static_cast<std::uint32_t>(geometry.warps_k);
  const auto stages = static_cast<std::uint32_t>(geometry.stages);
  if (geometry.variant == "gemv") {
    return gemv_shared_bytes(tile_m, warps_k);
  }
  if (geometry.variant == "gemm") {
    return GemmLayout{tile_m, tile_k, warps_n, warps_k, stages}.bytes();
  }
  if (geometry.variant == "prefill") {
    return PrefillLayout{tile_m, tile_n, tile_k, warps_k, stages}.bytes();
  }
  throw std::logic_error("w4a16 has no variant " + geometry.variant);
}

}  // namespace bitgate::kernels::w4a16
