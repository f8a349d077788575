#pragma once

#include <cstdint>

#include "conformance/check/verdict.h"

namespace bitgate::conformance {

/// A map of C [rows, cols] with nothing wrong yet: a cell is a tile, or a block of tiles so that at
/// most 16 × 64 cells cover C.
WrongMap make_wrong_map(std::int64_t rows, std::int64_t cols, std::int64_t tile_m,
                        std::int64_t tile_n);
/// Counts the element; 0 <= row < rows, 0 <= col < cols.
void mark_wrong(WrongMap& map, std::int64_t row, std::int64_t col);

}  // namespace bitgate::conformance
