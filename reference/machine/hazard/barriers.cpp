#include "reference/machine/hazard/barriers.h"

#include <fmt/format.h>

#include <bit>
#include <optional>
#include <utility>

#include "reference/machine/hazard/site_of.h"
#include "reference/machine/hazard/successors.h"

namespace bitgate::machine::hazard {

namespace {

/// Places that can be reached from `start` without entering `avoided`.
std::vector<std::uint8_t> reached(const Code& code, const std::vector<std::uint32_t>& start,
                                  std::uint32_t avoided) {
  std::vector<std::uint8_t> seen(code.ops.size(), 0);
  std::vector<std::uint32_t> left;
  const auto enter = [&](std::uint32_t pc) {
    if (pc >= seen.size() || pc == avoided || seen[pc] != 0) return;
    seen[pc] = 1;
    left.push_back(pc);
  };
  for (const std::uint32_t pc : start) enter(pc);
  while (!left.empty()) {
    const std::uint32_t pc = left.back();
    left.pop_back();
    each_successor(code, pc, enter);
  }
  return seen;
}

/// Whether nothing happens from here on but an exit.
bool only_exits(const Code& code, std::uint32_t pc) {
  return pc >= code.ops.size() || (!code.ops[pc].guarded && (code.ops[pc].flow == Flow::exit ||
                                                             code.ops[pc].flow == Flow::ret));
}

std::optional<std::uint32_t> join_of(const Code& code, std::uint32_t barrier) {
  if (code.ops[barrier].guarded) {
    // Lanes whose guard does not hold go around it, to the next instruction.
    if (only_exits(code, barrier + 1)) return std::nullopt;
    return barrier + 1;
  }
  std::vector<std::uint32_t> starts{code.start};
  for (const Procedure& procedure : code.procedures) starts.push_back(procedure.entry);
  const std::vector<std::uint8_t> around = reached(code, starts, barrier);
  // What only the barrier leads to, and where that ends.
  std::optional<std::uint32_t> join;
  bool one = true;
  std::vector<std::uint8_t> seen(code.ops.size(), 0);
  std::vector<std::uint32_t> left;
  const auto enter = [&](std::uint32_t pc) {
    if (pc >= seen.size() || pc == barrier) return;
    if (around[pc] != 0) {
      one = one && (!join || *join == pc);
      join = pc;
    } else if (seen[pc] == 0) {
      seen[pc] = 1;
      left.push_back(pc);
    }
  };
  each_successor(code, barrier, enter);
  while (!left.empty()) {
    const std::uint32_t pc = left.back();
    left.pop_back();
    each_successor(code, pc, enter);
  }
  if (!one || !join || only_exits(code, *join)) return std::nullopt;
  return join;
}

}  // namespace

BarrierWatch::BarrierWatch(const LaunchState& state, ReportList& reports)
    : state_(state), reports_(reports), marks_(state.code->ops.size(), 0) {
  const Code& code = *state.code;
  for (std::uint32_t pc = 0; pc < code.ops.size(); ++pc) {
    if (code.ops[pc].flow != Flow::barrier) continue;
    if (const auto join = join_of(code, pc)) {
      joins_.push_back({pc, *join});
      marks_[*join] = 1;
    }
  }
}

void BarrierWatch::start_block(const Block& block) {
  if (any()) blocks_[&block].assign(joins_.size() * block.warps.size(), {});
}

void BarrierWatch::finish_block(const Block& block) { blocks_.erase(&block); }

BarrierWatch::Lanes& BarrierWatch::lanes(const Block& block, std::size_t join, std::uint32_t warp) {
  return blocks_.at(&block)[join * block.warps.size() + warp];
}

void BarrierWatch::at_join(const Context& x, std::uint32_t lanes_here) {
  for (std::size_t i = 0; i < joins_.size(); ++i) {
    if (joins_[i].place != x.pc) continue;
    Lanes& lanes = this->lanes(*x.block, i, x.warp->index);
    lanes.around |= lanes_here & ~lanes.through;
    lanes.through &= ~lanes_here;
  }
}

void BarrierWatch::arrives(const Warp& warp, std::uint32_t pc, std::uint32_t lanes_here) {
  for (std::size_t i = 0; i < joins_.size(); ++i) {
    if (joins_[i].barrier != pc) continue;
    Lanes& lanes = this->lanes(*warp.block, i, warp.index);
    lanes.through |= lanes_here;
    lanes.around &= ~lanes_here;
  }
}

void BarrierWatch::exits(const Context& x) {
  if (!any()) return;
  for (std::size_t i = 0; i < joins_.size(); ++i) {
    Lanes& lanes = this->lanes(*x.block, i, x.warp->index);
    const std::uint32_t gone = lanes.around & x.active;
    if (gone == 0) continue;
    lanes.gone |= gone;
    lanes.exit_pc = x.pc;
    check(*x.block, i);
  }
}

void BarrierWatch::completes(const Block& block, std::uint32_t number) {
  if (!any()) return;
  for (std::size_t i = 0; i < joins_.size(); ++i) {
    bool waits = false;
    for (const Warp& warp : block.warps) {
      for (const Split& split : warp.splits) {
        waits = waits || (split.state == Split::State::barrier && split.barrier == number &&
                          split.pc == joins_[i].barrier);
      }
    }
    if (waits) check(block, i);
  }
}

/// Reports who went around a barrier that others wait at.
void BarrierWatch::check(const Block& block, std::size_t join) {
  const Warp* waiting = nullptr;
  std::uint32_t waiting_lanes = 0;
  for (const Warp& warp : block.warps) {
    for (const Split& split : warp.splits) {
      if (split.state != Split::State::barrier || split.pc != joins_[join].barrier) continue;
      if (waiting != nullptr) continue;
      waiting = &warp;
      waiting_lanes = split.mask;
    }
  }
  if (waiting == nullptr) return;
  for (const Warp& warp : block.warps) {
    Lanes& lanes = this->lanes(block, join, warp.index);
    if (lanes.gone == 0) continue;
    Report report;
    report.kind = Kind::barrier;
    report.first.site = site_of(state_, block.number, waiting->index, joins_[join].barrier,
                                static_cast<std::uint32_t>(std::countr_zero(waiting_lanes)));
    report.second =
        Place{AccessKind::none, site_of(state_, block.number, warp.index, lanes.exit_pc,
                                        static_cast<std::uint32_t>(std::countr_zero(lanes.gone)))};
    report.message = fmt::format(
        "threads wait at a barrier that {} lanes of warp {} went around before they exited",
        std::popcount(lanes.gone), warp.index);
    lanes.gone = 0;
    lanes.around = 0;
    reports_.add(std::move(report));
  }
}

}  // namespace bitgate::machine::hazard
