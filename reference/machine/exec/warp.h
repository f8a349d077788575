#pragma once

#include <cstdint>

#include "reference/machine/exec/context.h"

namespace bitgate::machine {

/// Why a warp gave up its turn.
enum class Turn : std::uint8_t {
  used_up,  ///< its budget of instructions
  blocked,  ///< every split waits, for a barrier or for lanes of its own
  finished
};

/// Starts a warp's lanes at the entry.
void start_warp(Warp& warp, const Code& code, std::uint32_t lanes);

/// Runs a warp for up to `budget` instructions. Throws MachineFault; Context::warp and pc then say
/// where.
Turn run_warp(Context& x, Warp& warp, std::uint32_t budget);

/// Who waits for what, when nothing in the block can go on.
std::string describe_waits(const Block& block, const Code& code);

}  // namespace bitgate::machine
