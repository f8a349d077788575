#pragma once

#include <array>
#include <cstdint>

#include "reference/machine/exec/context.h"

namespace bitgate::machine {

/// Calls of procedures at run time: each lane has a stack of its own, in its local memory above its
/// fixed variables, and a list of the calls that it is in (PTX ISA, "Function declarations and
/// definitions"). Registers that the caller still needs are saved in that list and count as stack,
/// as they do on the device.

/// Enters the procedure that `op` calls, for the active lanes, and gives each the place to go to. A
/// stack that is full and an address that is no function of the call's signature are faults.
void enter_procedure(Context& x, const Op& op, std::uint32_t pc,
                     std::array<std::uint32_t, kLanes>& target);
/// Leaves the procedures that the active lanes are in: results are copied, registers restored.
void leave_procedure(Context& x, std::array<std::uint32_t, kLanes>& target);

/// Makes the stacks of a warp empty.
void reset_stacks(Warp& warp, const Code& code);

}  // namespace bitgate::machine
