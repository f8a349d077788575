#pragma once

// For tests: what a defect in one place does to the operands of a problem. Used on both sides of
// the judge: on the exact sums of the exact fill and on the replay of the real one.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "reference/formats/quantized_matrix.h"

namespace bitgate::conformance {

struct Perturbation {
  const char* name;
  void (*apply)(formats::QuantizedMatrix& w, std::vector<std::uint16_t>& a, std::int64_t step);
};

/// The activations of the k16 step are zero in every row.
inline void lose_step(formats::QuantizedMatrix& w, std::vector<std::uint16_t>& a,
                      std::int64_t step) {
  const std::vector<std::int32_t> order = formats::sort_by_group(w);
  for (std::size_t row = 0; row < a.size(); row += static_cast<std::size_t>(w.k)) {
    for (std::int64_t p = 16 * step; p < std::min(16 * step + 16, w.k); ++p) {
      a[row + static_cast<std::size_t>(order[static_cast<std::size_t>(p)])] = 0;
    }
  }
}

/// The zero points of the step's group are one lower, a zero one higher.
inline void move_zero_points(formats::QuantizedMatrix& w, std::vector<std::uint16_t>& /*a*/,
                             std::int64_t step) {
  const std::int64_t g = 16 * step / w.group;
  for (std::int64_t n = 0; n < w.n; ++n) {
    std::uint8_t& z = w.z[static_cast<std::size_t>(g * w.n + n)];
    z = static_cast<std::uint8_t>(z == 0 ? 1 : z - 1);
  }
}

/// The step's group takes the scales of the next one, the last group those of the one before.
inline void take_neighbours_scales(formats::QuantizedMatrix& w, std::vector<std::uint16_t>& /*a*/,
                                   std::int64_t step) {
  const std::int64_t g = 16 * step / w.group;
  const std::int64_t from = g + 1 < w.groups() ? g + 1 : g - 1;
  for (std::int64_t n = 0; n < w.n; ++n) {
    w.scales[static_cast<std::size_t>(g * w.n + n)] =
        w.scales[static_cast<std::size_t>(from * w.n + n)];
  }
}

inline constexpr std::array kPerturbations{
    Perturbation{"lost k16 step", lose_step},
    Perturbation{"zero point off by one", move_zero_points},
    Perturbation{"neighbour's scale", take_neighbours_scales}};

}  // namespace bitgate::conformance
