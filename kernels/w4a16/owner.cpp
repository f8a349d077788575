#include <cstdint>

#include "kernels/w4a16/tile_grid.h"
#include "kernels/w4a16/w4a16.h"

namespace bitgate::kernels::w4a16 {

namespace {

/// Register of a lane that holds `column` and `row` of its warp's tile, in Sums16x8[columns /
/// 16][rows / 8]; `rows` is what the warp has.
int tensor_core_register(std::int64_t row, std::int64_t column, std::int64_t rows) {
  const std::int64_t product = column / 16 * (rows / 8) + row / 8;
  return static_cast<int>(product * 4 + column % 16 / 8 * 2 + row % 2);
}

int tensor_core_lane(std::int64_t row, std::int64_t column) {
  return static_cast<int>(column % 8 * 4 + row % 8 / 2);
}

}  // namespace

Owner owner(const Kernel& kernel, const Shape& shape, std::int64_t row, std::int64_t col) {
  const Geometry& geometry = kernel.geometry;
  const std::int64_t row_in_tile = row % geometry.tile_m;
  const std::int64_t column_in_tile = col % geometry.tile_n;
  Owner owner;
  owner.block.x = TileGrid(geometry, shape).block_of(row / geometry.tile_m, col / geometry.tile_n);
  if (geometry.variant == "gemv") {
    owner.lane = static_cast<int>(column_in_tile % 8 * 4);
    owner.reg = static_cast<int>(row_in_tile * 4 + column_in_tile / 8);
    return owner;
  }
  const std::int64_t warp_rows = geometry.tile_m / geometry.warps_m;
  const std::int64_t warp_columns = geometry.tile_n / geometry.warps_n;
  owner.warp =
      static_cast<int>(row_in_tile / warp_rows * geometry.warps_n + column_in_tile / warp_columns);
  owner.lane = tensor_core_lane(row_in_tile, column_in_tile);
  owner.reg =
      tensor_core_register(row_in_tile % warp_rows, column_in_tile % warp_columns, warp_rows);
  return owner;
}

}  // namespace bitgate::kernels::w4a16
