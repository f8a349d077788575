#include "conformance/problem/coverage.h"

#include <algorithm>
#include <utility>

#include "reference/numeric/half.h"

namespace bitgate::conformance {
namespace {

constexpr std::int64_t kStep = 16;
constexpr std::int64_t kTile = 8;

std::int64_t tiles_of(std::int64_t n) { return (n + kTile - 1) / kTile; }

/// Which row of A is asked about a step and about a group, and which k any row is active at.
struct Witnesses {
  std::vector<std::int64_t> of_step;   ///< -1: no row is active there
  std::vector<std::int64_t> of_group;  ///< -1: no row's activations have a sum there
  std::vector<bool> active;            ///< [k]
};

/// Keeps the row with the most non-zero activations: its products are least likely to cancel.
class BestRow {
 public:
  explicit BestRow(std::size_t places) : row_(places, -1), count_(places) {}
  void offer(std::size_t place, std::int64_t row, std::int32_t count) {
    if (count <= count_[place]) return;
    count_[place] = count;
    row_[place] = row;
  }
  std::vector<std::int64_t> take() { return std::move(row_); }

 private:
  std::vector<std::int64_t> row_;
  std::vector<std::int32_t> count_;
};

Witnesses find_witnesses(const formats::QuantizedMatrix& matrix,
                         std::span<const std::int64_t> step_of_index, std::int64_t m,
                         std::span<const std::uint16_t> activations) {
  struct Tally {
    std::int32_t active = 0;
    float sum = 0;
  };
  const auto k_size = static_cast<std::size_t>(matrix.k);
  std::vector<bool> active(k_size);
  std::vector<Tally> steps(static_cast<std::size_t>((matrix.k + kStep - 1) / kStep));
  std::vector<Tally> groups(static_cast<std::size_t>(matrix.groups()));
  BestRow of_step(steps.size());
  BestRow of_group(groups.size());
  std::vector<std::size_t> touched;
  for (std::int64_t row = 0; row < m; ++row) {
    const auto of_row = activations.subspan(static_cast<std::size_t>(row) * k_size, k_size);
    touched.clear();
    for (std::size_t k = 0; k < k_size; ++k) {
      if (of_row[k] == 0) continue;
      active[k] = true;
      touched.push_back(k);
      ++steps[static_cast<std::size_t>(step_of_index[k])].active;
      Tally& group = groups[static_cast<std::size_t>(matrix.g_idx[k])];
      ++group.active;
      group.sum += numeric::to_float(matrix.scale_type, of_row[k]);
    }
    for (const std::size_t k : touched) {
      const auto step = static_cast<std::size_t>(step_of_index[k]);
      const auto g = static_cast<std::size_t>(matrix.g_idx[k]);
      of_step.offer(step, row, steps[step].active);
      if (groups[g].sum != 0.0F) of_group.offer(g, row, groups[g].active);
      steps[step] = {};
      groups[g] = {};
    }
  }
  return {.of_step = of_step.take(), .of_group = of_group.take(), .active = std::move(active)};
}

/// dot += a * (q - z), for all columns of row k of W.
void accumulate(const formats::QuantizedMatrix& matrix, std::int64_t k, float a,
                std::vector<float>& dot) {
  const std::uint8_t* q = &matrix.q[static_cast<std::size_t>(k * matrix.n)];
  const std::int64_t g = matrix.g_idx[static_cast<std::size_t>(k)];
  const std::uint8_t* z = &matrix.z[static_cast<std::size_t>(g * matrix.n)];
  for (std::size_t n = 0; n < dot.size(); ++n) {
    dot[n] += a * static_cast<float>(static_cast<int>(q[n]) - static_cast<int>(z[n]));
  }
}

using Tiles = std::vector<std::uint8_t>;  ///< [column tile]: 1 where a change would show

Tiles tiles_where(std::int64_t n, const auto& shows) {
  Tiles tiles(static_cast<std::size_t>(tiles_of(n)));
  for (std::int64_t column = 0; column < n; ++column) {
    if (shows(static_cast<std::size_t>(column)))
      tiles[static_cast<std::size_t>(column / kTile)] = 1;
  }
  return tiles;
}

void keep_common(Tiles& tiles, const Tiles& other) {
  for (std::size_t t = 0; t < tiles.size(); ++t) tiles[t] &= other[t];
}

/// Where a group's own scale is told from its neighbours', and its zero point from the next.
Tiles tiles_of_group(const formats::QuantizedMatrix& matrix, bool symmetric, std::int64_t g,
                     std::int64_t witness, const std::vector<float>& dot) {
  const std::int64_t n = matrix.n;
  Tiles tiles(static_cast<std::size_t>(tiles_of(n)), 1);
  if (witness < 0 && (!symmetric || matrix.groups() > 1)) return Tiles(tiles.size(), 0);
  for (const std::int64_t neighbour : {g - 1, g + 1}) {
    if (neighbour < 0 || neighbour >= matrix.groups()) continue;
    keep_common(tiles, tiles_where(n, [&](std::size_t column) {
                  const auto own = static_cast<std::size_t>(g * n) + column;
                  const auto other = static_cast<std::size_t>(neighbour * n) + column;
                  return matrix.scales[own] != matrix.scales[other] && dot[column] != 0.0F;
                }));
  }
  return tiles;
}

}  // namespace

double Coverage::share() const {
  return cells() == 0 ? 1.0 : static_cast<double>(covered) / static_cast<double>(cells());
}

Coverage exact_coverage(const formats::QuantizedMatrix& matrix, bool symmetric, std::int64_t m,
                        std::span<const std::uint16_t> activations) {
  Coverage coverage{
      .steps = (matrix.k + kStep - 1) / kStep, .column_tiles = tiles_of(matrix.n), .covered = 0};
  if (coverage.cells() == 0 || m == 0) return coverage;

  const std::vector<std::int32_t> order = formats::sort_by_group(matrix);
  std::vector<std::int64_t> step_of_index(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) {
    step_of_index[static_cast<std::size_t>(order[p])] = static_cast<std::int64_t>(p) / kStep;
  }
  const Witnesses witnesses = find_witnesses(matrix, step_of_index, m, activations);
  const auto activation = [&](std::int64_t row, std::int64_t k) {
    return row < 0 ? 0.0F
                   : numeric::to_float(matrix.scale_type,
                                       activations[static_cast<std::size_t>(row * matrix.k + k)]);
  };

  std::vector<Tiles> shown_by_group;
  std::vector<float> dot(static_cast<std::size_t>(matrix.n));
  for (std::int64_t g = 0; g < matrix.groups(); ++g) {
    std::ranges::fill(dot, 0.0F);
    const std::int64_t witness = witnesses.of_group[static_cast<std::size_t>(g)];
    for (std::int64_t p = g * matrix.group; p < (g + 1) * matrix.group; ++p) {
      const std::int64_t k = order[static_cast<std::size_t>(p)];
      if (const float a = activation(witness, k); a != 0.0F) accumulate(matrix, k, a, dot);
    }
    shown_by_group.push_back(tiles_of_group(matrix, symmetric, g, witness, dot));
  }

  for (std::int64_t step = 0; step < coverage.steps; ++step) {
    const std::int64_t begin = step * kStep;
    const std::int64_t end = std::min(begin + kStep, matrix.k);
    const std::int64_t witness = witnesses.of_step[static_cast<std::size_t>(step)];
    std::ranges::fill(dot, 0.0F);
    bool every_position = true;
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t k = order[static_cast<std::size_t>(p)];
      every_position = every_position && witnesses.active[static_cast<std::size_t>(k)];
      if (const float a = activation(witness, k); a != 0.0F) accumulate(matrix, k, a, dot);
    }
    if (!every_position) continue;
    Tiles shown = tiles_where(matrix.n, [&](std::size_t column) { return dot[column] != 0.0F; });
    for (std::int64_t g = begin / matrix.group; g <= (end - 1) / matrix.group; ++g) {
      keep_common(shown, shown_by_group[static_cast<std::size_t>(g)]);
    }
    coverage.covered += std::ranges::count(shown, 1);
  }
  return coverage;
}

CoverageAccumulator::CoverageAccumulator(const kernels::Geometry& geometry)
    : tile_steps_(std::max<std::int64_t>(1, geometry.tile_k / kStep)),
      tile_columns_(std::max<std::int64_t>(1, geometry.tile_n / kTile)),
      reached_(static_cast<std::size_t>(tile_steps_)) {}

void CoverageAccumulator::add(const Coverage& coverage) {
  if (coverage.cells() == 0) return;
  ++cases_;
  cells_ += coverage.cells();
  covered_ += coverage.covered;
  if (coverage.covered != coverage.cells()) return;
  const std::int64_t steps = std::min(tile_steps_, coverage.steps);
  for (std::int64_t step = 0; step < steps; ++step) {
    std::int64_t& reached = reached_[static_cast<std::size_t>(step)];
    reached = std::max(reached, std::min(tile_columns_, coverage.column_tiles));
  }
}

double CoverageAccumulator::share() const {
  if (cells_ == 0) return 0.0;
  std::int64_t reached = 0;
  for (const std::int64_t columns : reached_) reached += columns;
  return std::min(static_cast<double>(covered_) / static_cast<double>(cells_),
                  static_cast<double>(reached) / static_cast<double>(tile_steps_ * tile_columns_));
}

}  // namespace bitgate::conformance
