#include "reference/machine/exec/warp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <type_traits>

#include "reference/machine/exec/async_copy.h"
#include "reference/machine/exec/calls.h"
#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/lookout.h"
#include "reference/machine/exec/synchronisation.h"
#include "reference/machine/hazard/hazards.h"

// A warp as a set of splits: (place, lanes). The split with the smallest place runs first, until it
// meets another at the same place and merges with it; so lanes reconverge at the earliest point
// that they share. A split that uses up its turn lets the others go first: a lane may wait for
// another of its own warp.

namespace bitgate::machine {

namespace {

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

bool runs(const Split& split) { return split.state == Split::State::running; }

/// Joins splits that are at the same place and neither waits for a barrier.
void merge(Warp& warp) {
  auto& splits = warp.splits;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (splits[i].state == Split::State::barrier) continue;
    for (std::size_t j = i + 1; j < splits.size();) {
      if (splits[j].pc == splits[i].pc && splits[j].state != Split::State::barrier) {
        splits[i].mask |= splits[j].mask;
        splits[i].state = Split::State::running;
        splits.erase(splits.begin() + static_cast<std::ptrdiff_t>(j));
      } else {
        ++j;
      }
    }
  }
}

/// The split whose turn it is, or none.
Split* pick(Warp& warp) {
  Split* lowest = nullptr;
  for (Split& split : warp.splits) {
    if (!runs(split)) continue;
    if (warp.turn_lane >= 0 && (split.mask >> warp.turn_lane & 1U) != 0) return &split;
    if (lowest == nullptr || split.pc < lowest->pc) lowest = &split;
  }
  return lowest;
}

/// The next place at which another split stands.
std::uint32_t next_meeting(const Warp& warp, const Split& current) {
  std::uint32_t result = kNowhere;
  for (const Split& split : warp.splits) {
    if (&split != &current && split.state != Split::State::barrier && split.pc > current.pc) {
      result = std::min(result, split.pc);
    }
  }
  return result;
}

/// After a turn that was used up, another split leads, by the order of their lowest lanes.
void rotate(Warp& warp, std::uint32_t current_mask) {
  warp.turn_lane = -1;
  if (warp.splits.size() < 2) return;
  const int current = std::countr_zero(current_mask);
  int next = kLanes;
  int first = kLanes;
  for (const Split& split : warp.splits) {
    if (!runs(split) || split.mask == current_mask) continue;
    const int lane = std::countr_zero(split.mask);
    first = std::min(first, lane);
    if (lane > current) next = std::min(next, lane);
  }
  if (next == kLanes) next = first;
  if (next < kLanes) warp.turn_lane = next;
}

/// Lets go the splits of the block that wait for barrier `number`.
void release(const LaunchState& state, Block& block, std::uint32_t number) {
  if (state.hazards != nullptr) state.hazards->barrier_completes(block, number);
  Barrier& barrier = block.barriers[number];
  for (Warp& warp : block.warps) {
    for (Split& split : warp.splits) {
      if (split.state == Split::State::barrier && split.barrier == number) {
        split.state = Split::State::running;
        ++split.pc;
      }
    }
    merge(warp);
  }
  std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0U);
  barrier.expected = 0;
  barrier.true_count = 0;
  barrier.thread_count = 0;
  barrier.in_use = false;
}

/// Gives the waiting lanes of a reduction their result.
void write_reductions(Block& block, const Code& code, std::uint32_t number) {
  const Barrier& barrier = block.barriers[number];
  for (Warp& warp : block.warps) {
    for (const Split& split : warp.splits) {
      if (split.state != Split::State::barrier || split.barrier != number) continue;
      const Op& op = code.ops[split.pc];
      Context x;
      x.registers = warp.registers.data();
      x.activate(split.mask);
      switch (barrier_action(op.extra)) {
        case BarrierAction::popc:
          each_lane(split.mask,
                    [&](std::size_t lane) { x.lanes32(op.d)[lane] = barrier.true_count; });
          break;
        case BarrierAction::land:
          store_predicate(x, op.d, barrier.true_count == barrier.thread_count ? kAllLanes : 0U);
          break;
        case BarrierAction::lor:
          store_predicate(x, op.d, barrier.true_count != 0 ? kAllLanes : 0U);
          break;
        case BarrierAction::sync:
        case BarrierAction::arrive:
          break;
      }
    }
  }
}

/// Threads that count as arrived: a warp all of whose live lanes are there counts whole.
bool complete(const Block& block, const Barrier& barrier) {
  if (barrier.expected == 0) {
    return std::all_of(block.warps.begin(), block.warps.end(), [&](const Warp& warp) {
      return (warp.live & ~barrier.arrived[warp.index]) == 0;
    });
  }
  std::uint32_t threads = 0;
  for (const Warp& warp : block.warps) {
    const std::uint32_t arrived = barrier.arrived[warp.index];
    if (arrived == 0) continue;
    threads +=
        (warp.live & ~arrived) == 0 ? kLanes : static_cast<std::uint32_t>(std::popcount(arrived));
  }
  return threads >= barrier.expected;
}

void check_barrier(const LaunchState& state, Block& block, std::uint32_t number) {
  Barrier& barrier = block.barriers[number];
  if (!barrier.in_use || !complete(block, barrier)) return;
  write_reductions(block, *state.code, number);
  release(state, block, number);
}

/// A fault at a barrier beside one who waits there.
[[noreturn]] void throw_mismatch(const Warp& waiting, const Split& split, std::string message) {
  Fault fault;
  fault.kind = Fault::Kind::barrier;
  fault.message = std::move(message);
  MachineFault thrown(std::move(fault));
  thrown.waiting = &waiting;
  thrown.waiting_pc = split.pc;
  thrown.waiting_lane = std::countr_zero(split.mask);
  throw thrown;
}

/// Who waits for barrier `number`, or nobody.
std::pair<const Warp*, const Split*> waiting_at(const Block& block, std::uint32_t number) {
  for (const Warp& warp : block.warps) {
    for (const Split& split : warp.splits) {
      if (split.state == Split::State::barrier && split.barrier == number) return {&warp, &split};
    }
  }
  return {nullptr, nullptr};
}

/// All lanes of a warp execute the same `.aligned` barrier (PTX ISA, barrier): lanes that wait at
/// another one will never meet these.
void check_alignment(const Context& x, const Warp& warp, const Op& op, std::uint32_t pc) {
  if ((op.extra & kAlignedBarrier) == 0) return;
  for (const Split& split : warp.splits) {
    if (split.state != Split::State::barrier || split.pc == pc) continue;
    if ((x.state->code->ops[split.pc].extra & kAlignedBarrier) == 0) continue;
    throw_mismatch(warp, split, "lanes of one warp come to different barrier instructions");
  }
}

void arrive(Context& x, Warp& warp, const Op& op, std::uint32_t lanes, std::uint32_t pc) {
  Block& block = *warp.block;
  const auto first = static_cast<std::size_t>(std::countr_zero(lanes));
  const std::uint32_t number = x.lanes32(op.a)[first];
  const std::uint32_t count = x.lanes32(op.b)[first];
  each_lane(lanes, [&](std::size_t lane) {
    if (x.lanes32(op.a)[lane] != number || x.lanes32(op.b)[lane] != count) {
      throw_fault(Fault::Kind::barrier, static_cast<int>(lane),
                  "lanes of one warp name different barriers or counts");
    }
  });
  if (number >= block.barriers.size()) {
    throw_fault(Fault::Kind::barrier, -1,
                fmt::format("barrier {} does not exist; there are 0 to 15", number));
  }
  if (count % kLanes != 0) {
    throw_fault(Fault::Kind::barrier, -1,
                fmt::format("barrier {} with a count of {} threads, which is no multiple of 32",
                            number, count));
  }
  if (count > block.warps.size() * kLanes) {
    throw_fault(Fault::Kind::barrier, -1,
                fmt::format("barrier {} waits for {} threads; the block has {}", number, count,
                            block.warps.size() * kLanes));
  }
  check_alignment(x, warp, op, pc);
  const auto action = barrier_action(op.extra);
  if (action == BarrierAction::arrive && count == 0) {
    throw_fault(Fault::Kind::barrier, -1, "bar.arrive without a count of threads");
  }
  Barrier& barrier = block.barriers[number];
  if (!barrier.in_use) {
    barrier.in_use = true;
    barrier.expected = count;
    barrier.arrived.assign(block.warps.size(), 0U);
  } else if (barrier.expected != count) {
    std::string message = fmt::format("barrier {} is waited for with {} and with {} threads",
                                      number, barrier.expected, count);
    const auto [other, split] = waiting_at(block, number);
    if (other != nullptr) throw_mismatch(*other, *split, std::move(message));
    throw_fault(Fault::Kind::barrier, -1, std::move(message));
  }
  if ((barrier.arrived[warp.index] & lanes) != 0) {
    throw_fault(Fault::Kind::barrier, -1,
                fmt::format("a thread arrives twice at barrier {} before it completes", number));
  }
  barrier.arrived[warp.index] |= lanes;
  if (action >= BarrierAction::popc) {
    const std::uint32_t p = x.predicate(op.c) ^ ((op.flip & 4U) != 0 ? kAllLanes : 0U);
    barrier.true_count += static_cast<std::uint32_t>(std::popcount(p & lanes));
    barrier.thread_count += static_cast<std::uint32_t>(std::popcount(lanes));
  }
  if (action != BarrierAction::arrive) {
    for (Split& split : warp.splits) {
      if (split.mask == lanes) {
        split.state = Split::State::barrier;
        split.barrier = number;
        split.pc = pc;
      }
    }
  }
  if (x.state->hazards != nullptr) x.state->hazards->barrier_arrives(warp, number, lanes, pc);
  check_barrier(*x.state, block, number);
}

/// Splits off `lanes`, which stay where they are; the rest of the split goes on to the next
/// instruction. Gives the index of the split that stays.
std::size_t separate(Warp& warp, std::size_t index, std::uint32_t lanes) {
  if (warp.splits[index].mask == lanes) return index;
  Split apart = warp.splits[index];
  apart.mask = lanes;
  warp.splits[index].mask &= ~lanes;
  ++warp.splits[index].pc;
  warp.splits.push_back(apart);
  return warp.splits.size() - 1;
}

void exit_lanes(Context& x, Warp& warp, std::uint32_t lanes) {
  complete_all_copies(*x.state, warp, lanes);
  warp.live &= ~lanes;
  for (Split& split : warp.splits) {
    split.mask &= ~lanes;
    // Who waits for lanes of the warp looks again.
    if (split.state == Split::State::converging) split.state = Split::State::running;
  }
  std::erase_if(warp.splits, [](const Split& split) { return split.mask == 0; });
  Block& block = *warp.block;
  for (std::uint32_t number = 0; number < block.barriers.size(); ++number) {
    check_barrier(*x.state, block, number);
  }
}

/// Whether the lanes that the active ones' member masks name are here. bar.warp.sync may be met at
/// several places: there the lanes that wait at others count as well.
bool converged(Context& x, const Warp& warp, const Op& op, std::uint32_t active) {
  const std::uint32_t* member = x.lanes32(op.a);
  std::uint32_t needed = 0;
  each_lane(active, [&](std::size_t lane) {
    if ((member[lane] & kLaneBit[lane]) == 0) {
      throw_fault(
          Fault::Kind::inactive_lane, static_cast<int>(lane),
          fmt::format("lane {} is not in its own member mask {:#010x}", lane, member[lane]));
    }
    needed |= member[lane];
  });
  if (op.masked == nullptr && warp.live != kAllLanes) {
    throw_fault(Fault::Kind::inactive_lane, -1,
                "the instruction needs all 32 lanes of the warp, and some have exited or never "
                "started");
  }
  return (needed & warp.live & ~active) == 0;
}

std::uint32_t member_mask(const Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* member = reinterpret_cast<const std::uint32_t*>(warp.registers.data() + op.a);
  return member[static_cast<std::size_t>(std::countr_zero(lanes))];
}

/// Every lane's member mask is the whole warp.
bool names_all(const Context& x, const Op& op) {
  const std::uint32_t* member = x.lanes32(op.a);
  std::uint32_t common = kAllLanes;
  for (std::size_t lane = 0; lane < kLanes; ++lane) common &= member[lane];
  return common == kAllLanes;
}

/// Releases bar.warp.sync at different places once all its lanes wait. Gives whether it did.
bool release_warp_barriers(const LaunchState& state, Warp& warp) {
  const Code& code = *state.code;
  const auto waits = [&](const Split& split) {
    return split.state == Split::State::converging && code.ops[split.pc].full == &warp_barrier;
  };
  for (const Split& candidate : warp.splits) {
    if (!waits(candidate)) continue;
    const std::uint32_t mask = member_mask(warp, code.ops[candidate.pc], candidate.mask);
    std::uint32_t waiting = 0;
    std::vector<Split*> together;
    for (Split& split : warp.splits) {
      if (waits(split) && member_mask(warp, code.ops[split.pc], split.mask) == mask) {
        waiting |= split.mask;
        together.push_back(&split);
      }
    }
    if ((mask & warp.live & ~waiting) != 0) continue;
    if (state.hazards != nullptr) state.hazards->warp_barrier(warp, waiting);
    for (Split* split : together) {
      split->state = Split::State::running;
      ++split->pc;
    }
    merge(warp);
    return true;
  }
  return false;
}

/// Sends each lane of a split to its target.
void send(Warp& warp, std::size_t at, const std::array<std::uint32_t, kLanes>& target) {
  std::uint32_t left = warp.splits[at].mask;
  while (left != 0) {
    const std::uint32_t place = target[static_cast<std::size_t>(std::countr_zero(left))];
    std::uint32_t same = 0;
    each_lane(left, [&](std::size_t lane) {
      if (target[lane] == place) same |= kLaneBit[lane];
    });
    left &= ~same;
    warp.splits[at].mask = same;
    warp.splits[at].pc = place;
    if (left != 0) {
      warp.splits.push_back(warp.splits[at]);
      at = warp.splits.size() - 1;
    }
  }
  merge(warp);
}

/// Sends each lane of the split to the target that its index names.
void branch_indirectly(Context& x, Warp& warp, std::size_t index, const Op& op,
                       std::uint32_t active) {
  const std::uint32_t* selector = x.lanes32(op.a);
  const std::uint32_t* targets = x.state->code->lists.data() + op.list;
  each_lane(active, [&](std::size_t lane) {
    if (selector[lane] >= static_cast<std::uint64_t>(op.immediate)) {
      throw_fault(
          Fault::Kind::out_of_bounds, static_cast<int>(lane),
          fmt::format("index {} of a branch with {} targets", selector[lane], op.immediate));
    }
  });
  std::array<std::uint32_t, kLanes> target{};
  each_lane(active, [&](std::size_t lane) { target[lane] = targets[selector[lane]]; });
  send(warp, separate(warp, index, active), target);
}

/// Carries out an instruction that may change the set of splits. Their places are up to date before
/// and after.
void step_splits(Context& x, Warp& warp, std::size_t index, const Op& op, std::uint32_t active) {
  const std::uint32_t pc = warp.splits[index].pc;
  x.activate(active);
  hazard::Hazards* const hazards = x.state->hazards;
  Coverage::Count* const coverage = x.state->coverage;
  if (op.flow != Flow::converge) {
    if (hazards != nullptr) hazards->before(x, op, warp.splits[index].mask);
    if (coverage != nullptr) coverage[pc].add(active);
  }
  switch (op.flow) {
    case Flow::branch: {
      const std::size_t taken = separate(warp, index, active);
      warp.splits[taken].pc = static_cast<std::uint32_t>(op.immediate);
      merge(warp);
      return;
    }
    case Flow::indirect_branch:
      return branch_indirectly(x, warp, index, op, active);
    case Flow::call:
    case Flow::ret: {
      std::array<std::uint32_t, kLanes> target{};
      if (op.flow == Flow::call) {
        enter_procedure(x, op, pc, target);
      } else {
        leave_procedure(x, target);
      }
      send(warp, separate(warp, index, active), target);
      return;
    }
    case Flow::exit:
      separate(warp, index, active);
      exit_lanes(x, warp, active);
      merge(warp);
      return;
    case Flow::barrier: {
      const std::size_t at = separate(warp, index, active);
      if (barrier_action(op.extra) == BarrierAction::arrive) ++warp.splits[at].pc;
      arrive(x, warp, op, active, pc);
      merge(warp);
      return;
    }
    case Flow::converge: {
      const std::uint32_t evaluated = warp.splits[index].mask;
      const std::size_t at = separate(warp, index, active);
      if (!converged(x, warp, op, active)) {
        warp.splits[at].state = Split::State::converging;
        return;
      }
      if (hazards != nullptr) hazards->before(x, op, evaluated);
      if (coverage != nullptr) coverage[pc].add(active);
      (active == kAllLanes ? op.full : op.masked)(x, op);
      x.activate(active);
      if (hazards != nullptr) hazards->after(x, op);
      ++warp.splits[at].pc;
      merge(warp);
      return;
    }
    case Flow::trap:
      throw_fault(Fault::Kind::trap, -1, "the kernel executed a trap");
    case Flow::unsupported:
      throw_fault(Fault::Kind::unsupported, -1,
                  fmt::format("unsupported: {}", x.state->code->debug[pc].unsupported));
    case Flow::straight:
      break;
  }
}

}  // namespace

void throw_fault(Fault::Kind kind, int lane, std::string message) {
  Fault fault;
  fault.kind = kind;
  fault.message = std::move(message);
  MachineFault thrown(std::move(fault));
  thrown.lane = lane;
  throw thrown;
}

void start_warp(Warp& warp, const Code& code, std::uint32_t lanes) {
  warp.live = lanes;
  warp.splits.clear();
  if (lanes != 0) warp.splits.push_back({code.start, lanes, Split::State::running, 0});
  warp.turn_lane = -1;
  warp.copies.clear();
  warp.open_group.fill(0);
  warp.carry = 0;
  warp.clock = 0;
  reset_stacks(warp, code);
}

namespace {

/// Lanes of instructions that did not run in all 32.
struct PartialCounts {
  std::uint64_t instructions = 0;
  std::uint64_t threads = 0;
};

/// What a run watches besides running.
enum class Watch : std::uint8_t { nothing, coverage, hazards };

struct Stretch {
  const Op* op;        ///< the next instruction
  std::uint32_t left;  ///< of the budget
};

/// Runs one split until its budget is used up, it meets another split, or it comes to an
/// instruction that may change the set of splits. The machine spends its time here: everything that
/// the loop needs is in registers, and a run that nobody watches pays nothing for those that are.
template <Watch Watched>
[[gnu::noinline]] Stretch run_stretch(Context& x, const Op* const ops, const Op* op,
                                      const std::uint32_t mask, const Op* const meeting,
                                      std::uint32_t left, PartialCounts& partial) {
  const std::conditional_t<Watched == Watch::hazards, Lookout, NoLookout> lookout(x);
  const auto count = [&](std::uint32_t lanes) {
    if constexpr (Watched == Watch::coverage) x.state->coverage[x.pc].add(lanes);
  };
  while (left != 0) {
    const std::uint32_t active = mask & (x.predicate(op->guard) ^ op->guard_flip);
    x.pc = static_cast<std::uint32_t>(op - ops);
    if (op->flow == Flow::straight ||
        (op->flow == Flow::converge && active == kAllLanes && names_all(x, *op))) {
      --left;
      if (active == kAllLanes) {
        x.active = kAllLanes;
        count(kAllLanes);
        lookout.before(x, *op, kAllLanes, kAllLanes);
        op->full(x, *op);
        lookout.after(x, *op);
      } else {
        ++partial.instructions;
        count(active);
        lookout.before(x, *op, active, mask);
        if (active != 0) {
          partial.threads += static_cast<std::uint64_t>(std::popcount(active));
          x.activate(active);
          op->masked(x, *op);
          lookout.after(x, *op);
        }
      }
      ++op;
    } else if (active == 0) {
      --left;
      ++partial.instructions;
      count(active);
      lookout.before(x, *op, active, mask);
      ++op;
    } else if (op->flow == Flow::branch && active == mask && meeting == nullptr) {
      // A branch of the whole warp: no other split can be met.
      --left;
      if (active != kAllLanes) {
        ++partial.instructions;
        partial.threads += static_cast<std::uint64_t>(std::popcount(active));
      }
      count(active);
      lookout.before(x, *op, active, mask);
      op = ops + op->immediate;
    } else {
      break;
    }
    if (op == meeting) break;
  }
  return {op, left};
}

}  // namespace

Turn run_warp(Context& x, Warp& warp, std::uint32_t budget) {
  const Code& code = *x.state->code;
  const Op* const ops = code.ops.data();
  x.warp = &warp;
  x.block = warp.block;
  x.registers = warp.registers.data();
  std::uint32_t left = budget;
  PartialCounts partial;
  // Counts what ran also when a fault ends it, up to the stretch that it ended.
  struct Count {
    LaunchState& state;
    const std::uint32_t& left;
    const PartialCounts& partial;
    std::uint32_t budget;
    ~Count() {
      const std::uint64_t issued = budget - left;
      state.warp_instructions += issued;
      if (issued >= partial.instructions) {
        state.thread_instructions += (issued - partial.instructions) * kLanes + partial.threads;
      }
    }
  } const count{*x.state, left, partial, budget};

  for (;;) {
    if (warp.live == 0) return Turn::finished;
    Split* const split = pick(warp);
    if (split == nullptr) {
      if (release_warp_barriers(*x.state, warp)) continue;
      return Turn::blocked;
    }
    const auto index = static_cast<std::size_t>(split - warp.splits.data());
    const std::uint32_t mask = split->mask;
    const Op* meeting = nullptr;
    if (warp.splits.size() > 1) {
      const std::uint32_t place = next_meeting(warp, *split);
      // The end of the code is a place that no split reaches without an exit before it.
      meeting = ops + std::min<std::size_t>(place, code.ops.size());
    }
    const auto run = x.state->hazards != nullptr    ? &run_stretch<Watch::hazards>
                     : x.state->coverage != nullptr ? &run_stretch<Watch::coverage>
                                                    : &run_stretch<Watch::nothing>;
    const Stretch stretch = run(x, ops, ops + split->pc, mask, meeting, left, partial);
    left = stretch.left;
    warp.splits[index].pc = static_cast<std::uint32_t>(stretch.op - ops);
    if (stretch.op == meeting) {
      merge(warp);
    } else if (left == 0) {
      rotate(warp, mask);
      return Turn::used_up;
    } else {
      const Op& op = *stretch.op;
      const std::uint32_t active = mask & (x.predicate(op.guard) ^ op.guard_flip);
      --left;
      if (active != kAllLanes) {
        ++partial.instructions;
        partial.threads += static_cast<std::uint64_t>(std::popcount(active));
      }
      x.pc = warp.splits[index].pc;
      step_splits(x, warp, index, op, active);
    }
  }
}

std::string describe_waits(const Block& block, const Code& code) {
  std::string result;
  std::size_t described = 0;
  for (const Warp& warp : block.warps) {
    for (const Split& split : warp.splits) {
      if (split.state == Split::State::running) continue;
      if (++described > 8) return result + "; …";
      if (!result.empty()) result += "; ";
      const DebugLine& line = code.debug[split.pc];
      result += fmt::format("warp {} lanes {:#010x} wait at '{}' (PTX line {})", warp.index,
                            split.mask, line.instruction, line.ptx_line);
      if (split.state == Split::State::barrier) {
        const Barrier& barrier = block.barriers[split.barrier];
        std::uint32_t arrived = 0;
        for (const std::uint32_t lanes : barrier.arrived) {
          arrived += static_cast<std::uint32_t>(std::popcount(lanes));
        }
        std::uint32_t expected = barrier.expected;
        if (expected == 0) {
          for (const Warp& other : block.warps) {
            expected += static_cast<std::uint32_t>(std::popcount(other.live));
          }
        }
        result += fmt::format(" for barrier {}: {} of {} threads arrived", split.barrier, arrived,
                              expected);
      } else {
        const std::uint32_t needed =
            member_mask(warp, code.ops[split.pc], split.mask) & warp.live & ~split.mask;
        result += fmt::format(" for lanes {:#010x} of their warp", needed);
      }
    }
  }
  return result;
}

}  // namespace bitgate::machine
