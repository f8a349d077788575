#pragma once

#include <cstdint>

namespace bitgate::machine {

/// What a barrier instruction does on arrival (Op::extra of Flow::barrier); a = number, b = count
/// of threads (0: all), c = predicate of a reduction, d = its result.
enum class BarrierAction : std::uint8_t { sync, arrive, popc, land, lor };

/// Beside the action: `.aligned`, all lanes of a warp execute the same barrier instruction.
inline constexpr std::uint8_t kAlignedBarrier = 16;
inline constexpr BarrierAction barrier_action(std::uint8_t extra) {
  return static_cast<BarrierAction>(extra & (kAlignedBarrier - 1));
}

struct Context;
struct Op;

/// bar.warp.sync: nothing is left to do once the lanes have met. Its address marks the instruction.
void warp_barrier(Context& x, const Op& op);

}  // namespace bitgate::machine
