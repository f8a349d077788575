#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/machine/program/code.h"

namespace bitgate::machine::hazard {

/// Where control goes from an instruction, within its function.
template <class Visit>
void each_successor(const Code& code, std::uint32_t pc, Visit&& visit) {
  const Op& op = code.ops[pc];
  const bool goes_on = op.guarded;
  switch (op.flow) {
    case Flow::branch:
      visit(static_cast<std::uint32_t>(op.immediate));
      if (goes_on) visit(pc + 1);
      return;
    case Flow::indirect_branch:
      for (std::int64_t i = 0; i < op.immediate; ++i) {
        visit(code.lists[op.list + static_cast<std::size_t>(i)]);
      }
      if (goes_on) visit(pc + 1);
      return;
    case Flow::exit:
    case Flow::ret:
    case Flow::trap:
    case Flow::unsupported:
      if (goes_on) visit(pc + 1);
      return;
    case Flow::straight:
    case Flow::converge:
    case Flow::call:
    case Flow::barrier:
      visit(pc + 1);
      return;
  }
}

}  // namespace bitgate::machine::hazard
