#pragma once

#include <cstdint>

#include "reference/machine/exec/context.h"
#include "reference/machine/site.h"

namespace bitgate::machine::hazard {

/// Where an instruction stands and who executes it: `block` in the grid, `warp` in the block.
Site site_of(const LaunchState& state, std::uint64_t block, std::uint32_t warp, std::uint32_t pc,
             std::uint32_t lane);

}  // namespace bitgate::machine::hazard
