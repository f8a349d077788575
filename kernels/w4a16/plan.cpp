#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "kernels/w4a16/tile_grid.h"
#include "kernels/w4a16/tile_layout.h"
#include "kernels/w4a16/w4a16.h"
#include "reference/support/error.h"

namespace bitgate::kernels::w4a16 {

namespace {

/// What a kernel's time is made of, in nanoseconds, fitted to seven layers on an H200. A block
/// starts, then takes its share of unit after unit of 32 x 32 weights.
struct Cost {
  std::string_view variant;
  double start;       ///< of a block: filling the pipeline, adding up, storing
  double weights;     ///< a unit, read and unpacked
  int rows;           ///< of the activation that are multiplied together
  double products;    ///< a unit against as many rows
  double activation;  ///< bringing as many rows of the activation, shared by the tile's units
};
constexpr std::array<Cost, 3> kCosts = {{{"gemv", 800, 17, 1, 25, 0},
                                         {"gemm", 2000, 15, 8, 5, 3},
                                         {"prefill", 2500, 3, 8, 4.46, 3.85}}};
/// A multiprocessor that holds fewer blocks than it is meant to has fewer warps to turn to.
constexpr double kLonely = 1.08;

const Cost& cost_of(const Geometry& geometry) {
  return *std::find_if(kCosts.begin(), kCosts.end(),
                       [&](const Cost& cost) { return cost.variant == geometry.variant; });
}

/// Estimated nanoseconds of a call.
double estimate(const Geometry& geometry, const Shape& shape, int multiprocessors) {
  const Cost& cost = cost_of(geometry);
  const std::int64_t blocks = TileGrid(geometry, shape).blocks();
  const std::int64_t waves = (blocks + multiprocessors - 1) / multiprocessors;
  const auto rounds = static_cast<double>(waves);
  const double units = geometry.tile_n / static_cast<double>(kUnitColumns);
  const double rows = geometry.tile_m / static_cast<double>(cost.rows);
  const double unit = cost.weights + rows * (cost.products + cost.activation / units);
  const double work = static_cast<double>(shape.k) / kBlockK * units * unit;
  // Blocks side by side start while others work.
  const bool full = blocks >= std::int64_t{multiprocessors} * geometry.resident;
  return full ? rounds * (cost.start / geometry.resident + work)
              : rounds * (cost.start + work * (geometry.resident > 1 ? kLonely : 1.0));
}

}  // namespace

const Kernel& plan(const Shape& shape, int multiprocessors) {
  if (multiprocessors < 1) {
    throw InputError("a plan needs at least one multiprocessor; it was given " +
                     std::to_string(multiprocessors));
  }
  const Kernel* best = nullptr;
  double best_estimate = std::numeric_limits<double>::infinity();
  std::string reason = "none is built for its types";
  for (const Kernel& kernel : kernels()) {
    if (kernel.family != "w4a16" || kernel.type != shape.type || kernel.zeros != shape.zeros) {
      continue;
    }
    if (auto outside = outside_domain(kernel, shape)) {
      reason = *outside;
      continue;
    }
    const double nanoseconds = estimate(kernel.geometry, shape, multiprocessors);
    if (best == nullptr || nanoseconds < best_estimate) {
      best = &kernel;
      best_estimate = nanoseconds;
    }
  }
  if (best == nullptr) {
    throw InputError("no w4a16 kernel serves this shape: " + reason);
  }
  return *best;
}

}  // namespace bitgate::kernels::w4a16
