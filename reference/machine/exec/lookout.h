#pragma once

#include <cstdint>

#include "reference/machine/exec/context.h"
#include "reference/machine/hazard/hazards.h"

namespace bitgate::machine {

/// Tells who watches what a loop over a warp's instructions does, and keeps what that is decided by
/// in reach of the loop.
struct Lookout {
  hazard::Hazards* hazards = nullptr;
  const hazard::RegisterBits* watched = nullptr;   ///< by pc
  const hazard::RegisterBits* labelled = nullptr;  ///< of the warp

  explicit Lookout(const Context& x)
      : hazards(x.state->hazards), watched(hazards->watched()), labelled(x.warp->labelled) {}

  void before(Context& x, const Op& op, std::uint32_t active, std::uint32_t evaluated) const {
    if ((watched[x.pc] & *labelled) == 0) [[likely]]
      return;
    x.activate(active);
    hazards->before(x, op, evaluated);
  }
  void after(Context& x, const Op& op) const { hazards->after(x, op); }
};

/// The same where nobody watches.
struct NoLookout {
  explicit NoLookout(const Context&) {}
  void before(Context&, const Op&, std::uint32_t, std::uint32_t) const {}
  void after(Context&, const Op&) const {}
};

}  // namespace bitgate::machine
