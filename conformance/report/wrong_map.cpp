#include "conformance/report/wrong_map.h"

#include <algorithm>

namespace bitgate::conformance {
namespace {

constexpr std::int64_t kMostRows = 16;
constexpr std::int64_t kMostCols = 64;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The smallest multiple of `tile` of which `most` cover `extent`.
std::int64_t cell(std::int64_t extent, std::int64_t tile, std::int64_t most) {
  const std::int64_t tiles = ceil_div(extent, std::max<std::int64_t>(tile, 1));
  return std::max<std::int64_t>(tile, 1) * std::max<std::int64_t>(ceil_div(tiles, most), 1);
}

}  // namespace

WrongMap make_wrong_map(std::int64_t rows, std::int64_t cols, std::int64_t tile_m,
                        std::int64_t tile_n) {
  WrongMap map{.rows = rows,
               .cols = cols,
               .cell_rows = cell(rows, tile_m, kMostRows),
               .cell_cols = cell(cols, tile_n, kMostCols),
               .wrong = {}};
  map.wrong.resize(
      static_cast<std::size_t>(ceil_div(rows, map.cell_rows) * ceil_div(cols, map.cell_cols)));
  return map;
}

void mark_wrong(WrongMap& map, std::int64_t row, std::int64_t col) {
  const std::int64_t across = ceil_div(map.cols, map.cell_cols);
  ++map.wrong[static_cast<std::size_t>(row / map.cell_rows * across + col / map.cell_cols)];
}

}  // namespace bitgate::conformance
