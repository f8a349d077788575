#include "reference/machine/hazard/site_of.h"

namespace bitgate::machine::hazard {

Site site_of(const LaunchState& state, std::uint64_t block, std::uint32_t warp, std::uint32_t pc,
             std::uint32_t lane) {
  const DebugLine& line = state.code->debug[pc];
  const Dim3& grid = state.launch->grid;
  const Dim3& extent = state.launch->block;
  const std::uint32_t thread = warp * kLanes + lane;
  return {line.instruction,
          line.file,
          line.line,
          line.ptx_line,
          {static_cast<std::uint32_t>(block % grid.x),
           static_cast<std::uint32_t>(block / grid.x % grid.y),
           static_cast<std::uint32_t>(block / grid.x / grid.y)},
          {thread % extent.x, thread / extent.x % extent.y, thread / extent.x / extent.y}};
}

}  // namespace bitgate::machine::hazard
