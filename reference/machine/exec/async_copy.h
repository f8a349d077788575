#pragma once

#include <cstdint>

#include "reference/machine/exec/context.h"

namespace bitgate::machine {

/// Carries out the pending copies of `lanes`, committed or not: cp.async.wait_all, and exit, which
/// leaves none behind.
void complete_all_copies(const LaunchState& state, Warp& warp, std::uint32_t lanes);

}  // namespace bitgate::machine
