#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "reference/formats/quantized_matrix.h"

namespace bitgate::conformance {

/// What an exact problem would notice.
///
/// Its *cells* are (k16 step × column tile): 16 consecutive positions of k sorted by group, which
/// is the order kernels walk it in, by 8 consecutive columns, the width of one mma. A cell is
/// *covered* when each of these changes an output of its columns, for some row of A:
///
/// - the step is lost;
/// - q of one weight moves by one, at each of the step's positions;
/// - the zero point of one of the step's groups moves by one in one column;
/// - one of the step's groups takes the scales of the group before it, or of the one after it.
///
/// Changes an output means: moves the exact sum by at least one unit (fill_exact.h), because below
/// the output type's integers no two sums round to the same bits. The count is a lower bound: for
/// each step and each group one row of A is asked, not all.
struct Coverage {
  std::int64_t steps = 0;         ///< k16 steps
  std::int64_t column_tiles = 0;  ///< of 8 columns
  std::int64_t covered = 0;       ///< cells

  std::int64_t cells() const { return steps * column_tiles; }
  /// 0..1; 1 when there is no cell.
  double share() const;
  friend bool operator==(const Coverage&, const Coverage&) = default;
};

/// Coverage of A (activations [m][k] bits) times `matrix`, an exact problem. Zero points are not
/// asked of a symmetric layer, nor neighbours of a single group.
Coverage exact_coverage(const formats::QuantizedMatrix& matrix, bool symmetric, std::int64_t m,
                        std::span<const std::uint16_t> activations);

/// Over the exact cases of one kernel.
///
/// share() is the smaller of two: covered cells over cells, all cases together; and, of the
/// kernel's own tile (tile_k / 16 steps × tile_n / 8 columns), the share that some fully covered
/// case reaches, so that cases that are all smaller than the tile do not count as proof of it.
class CoverageAccumulator {
 public:
  explicit CoverageAccumulator(const kernels::Geometry& geometry);
  void add(const Coverage& coverage);
  bool empty() const { return cases_ == 0; }
  double share() const;

 private:
  std::int64_t tile_steps_;
  std::int64_t tile_columns_;
  std::vector<std::int64_t> reached_;  ///< [tile step]: column tiles some case reached
  std::int64_t cases_ = 0;
  std::int64_t cells_ = 0;
  std::int64_t covered_ = 0;
};

}  // namespace bitgate::conformance
