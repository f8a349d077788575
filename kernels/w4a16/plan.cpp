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

/// What a kernel's time is made of, in nanoseconds on one multiprocessor.
struct Cost {
  std::string_view variant;
  double block;     ///< start and end of a block: filling the pipeline, adding the k-groups
  double weights;   ///< one unit of 32 x 32 weights, read and unpacked
  double products;  ///< the same unit against 8 rows
};
constexpr std::array<Cost, 3> kCosts = {
    {{"gemv", 2000, 9, 16}, {"gemm", 2500, 8, 2.5}, {"prefill", 4000, 5, 1.9}}};
/// A k-group waits for memory when too few bytes are under way: the least a step of 32 can take.
constexpr double kStepLatency = 60;

const Cost& cost_of(const Geometry& geometry) {
  return *std::find_if(kCosts.begin(), kCosts.end(),
                       [&](const Cost& cost) { return cost.variant == geometry.variant; });
}

/// Estimated nanoseconds of a call.
double estimate(const Geometry& geometry, const Shape& shape, int multiprocessors) {
  const Cost& cost = cost_of(geometry);
  const TileGrid grid(geometry, shape);
  const double rounds =
      static_cast<double>((grid.blocks() + multiprocessors - 1) / multiprocessors);
  const double steps = static_cast<double>(shape.k) / kBlockK;
  const double rows8 = (geometry.tile_m + 7) / 8;
  const double units = static_cast<double>(geometry.tile_n) / kUnitColumns;
  const double work = steps * units * (cost.weights + rows8 * cost.products);
  const double latency = steps / geometry.warps_k * kStepLatency;
  return rounds * (cost.block + std::max(work, latency));
}

}  // namespace

const Kernel& plan(const Shape& shape, int multiprocessors) {
  if (multiprocessors < 1) {
    throw InputError("a plan needs at least one multiprocessor; it was given " +
                     std::to_string(multiprocessors));
  }
  const Kernel* best = nullptr;
  double best_estimate = std::numeric_limits<double>::infinity();
  std::string reason;
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
    throw InputError("no w4a16 kernel serves this shape: " +
                     (reason.empty() ? "none is built for its types" : reason));
  }
  return *best;
}

}  // namespace bitgate::kernels::w4a16
