#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/w4a16/w4a16.h"

namespace bitgate::kernels::w4a16 {

/// Which block works on which tile; the device code says the same.
class TileGrid {
 public:
  TileGrid(const Geometry& geometry, const Shape& shape);

  std::int64_t tiles_m() const { return tiles_m_; }
  std::int64_t tiles_n() const { return tiles_n_; }
  std::int64_t blocks() const { return tiles_m_ * tiles_n_; }
  std::uint32_t block_of(std::int64_t tile_m, std::int64_t tile_n) const;

 private:
  std::int64_t tiles_m_;
  std::int64_t tiles_n_;
  bool banded_;
};

/// Threads of a block.
std::uint32_t threads(const Geometry& geometry);
/// Dynamic shared memory of a block, in bytes.
std::uint32_t shared_bytes(const Geometry& geometry);

}  // namespace bitgate::kernels::w4a16
