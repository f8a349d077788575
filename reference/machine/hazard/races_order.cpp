#include <algorithm>
#include <bit>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/races.h"
#include "reference/machine/hazard/races_internal.h"

// Causality: what threads know of each other, and how they come to know it (PTX ISA 8.9, 8.10).

namespace bitgate::machine::hazard {

namespace {

constexpr std::size_t kGpu = static_cast<std::size_t>(Scope::gpu);
constexpr std::size_t kCta = static_cast<std::size_t>(Scope::cta);
/// Commits of a warp that are remembered; cp.async.wait_group looks back over a few.
constexpr std::size_t kMostCommits = 256;

std::uint32_t warp_in(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 7); }

}  // namespace

/// Whether what `lanes` publish together covers all that the warp has accessed.
bool Races::is_whole(const WarpClock& warp, std::uint32_t lanes) {
  return (warp.accessed & ~lanes) == 0;
}

Races::Ordered Races::before(const Record& record, std::uint32_t lanes, const Actor& actor) const {
  const Group& group = *actor.group;
  const std::uint32_t index = record.warp - actor.block->first_warp;
  if (index < warps_per_block_ &&
      group.seen[index + (record.async ? warps_per_block_ : 0)] >= record.epoch) {
    return Ordered::everywhere;
  }
  const Clock* extra = group.extra.get();
  if (extra != nullptr &&
      extra->at(Clock::key(record.warp, record.async, Clock::kAllLanesSlot)) >= record.epoch) {
    return Ordered::everywhere;
  }
  const bool own = record.warp == actor.warp->number;
  const bool done = !record.async || record.epoch <= group.async;
  if (own && done && record.aligned_with(actor.what)) return Ordered::everywhere;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    if (own && done && actor.lanes == kLaneBit[lane]) continue;
    if (extra != nullptr &&
        extra->at(Clock::key(record.warp, record.async, Clock::slot_of(lane))) >= record.epoch) {
      continue;
    }
    return Ordered::no;
  }
  return Ordered::here;
}

bool Races::morally_strong(const Record& record, const Actor& actor) const {
  const bool one_block = record.warp / warps_per_block_ == actor.warp->number / warps_per_block_;
  return record.strong && record.bytes == actor.what.bytes &&
         (one_block || (!record.cta_scope && !actor.what.cta_scope));
}

/// A write that somebody observed comes before what follows that observation, whether or not the
/// writer released anything (PTX ISA 8.10.5, "Causality Order").
bool Races::observed(const Node& node, const Actor& actor, const std::byte* at) const {
  if (node.version == 0) return false;
  const SyncPlaces& places = actor.region == nullptr ? actor.block->places : places_;
  auto found = places.find(at);
  // The second half of 8 bytes.
  if (found == places.end()) found = places.find(at - 4);
  if (found == places.end()) return false;
  const auto& observations = found->second.observations;
  for (auto seen = observations.rbegin(); seen != observations.rend(); ++seen) {
    if (seen->version < node.version) return false;
    Record record;
    record.warp = seen->warp;
    record.epoch = seen->epoch;
    if (before(record, kLaneBit[seen->lane], actor) != Ordered::no) return true;
  }
  return false;
}

bool Races::in_block(const BlockRaces& block, std::uint64_t key) const {
  return warp_in(key) - block.first_warp < warps_per_block_ && (key & 63U) == Clock::kAllLanesSlot;
}

void Races::learn(const BlockRaces& block, Group& group, const ClockPtr& clock) const {
  if (clock == nullptr) return;
  auto rest = std::make_shared<Clock>();
  for (const Clock::Entry& entry : clock->entries) {
    if (!in_block(block, entry.first)) {
      rest->entries.push_back(entry);
      continue;
    }
    const bool async = (entry.first & 64U) != 0;
    std::uint32_t& seen =
        group.seen[warp_in(entry.first) - block.first_warp + (async ? warps_per_block_ : 0)];
    seen = std::max(seen, entry.second);
  }
  if (!rest->entries.empty()) group.extra = join(group.extra, rest);
}

bool Races::knows(const BlockRaces& block, const Group& group, const ClockPtr& clock) const {
  if (clock == nullptr) return true;
  return std::all_of(clock->entries.begin(), clock->entries.end(), [&](const Clock::Entry& entry) {
    if (in_block(block, entry.first)) {
      const bool async = (entry.first & 64U) != 0;
      return group.seen[warp_in(entry.first) - block.first_warp + (async ? warps_per_block_ : 0)] >=
             entry.second;
    }
    return group.extra != nullptr && group.extra->at(entry.first) >= entry.second;
  });
}

/// All that a group knows but for its own lanes' part.
ClockPtr Races::others_of(const BlockRaces& block, const Group& group) const {
  auto clock = std::make_shared<Clock>();
  if (group.extra != nullptr) clock->entries = group.extra->entries;
  for (std::uint32_t i = 0; i < 2 * warps_per_block_; ++i) {
    const bool async = i >= warps_per_block_;
    const std::uint32_t warp = block.first_warp + (async ? i - warps_per_block_ : i);
    clock->entries.emplace_back(Clock::key(warp, async, Clock::kAllLanesSlot), group.seen[i]);
  }
  clock->sort();
  return clock;
}

ClockPtr Races::publish(const WarpClock& warp, const Snapshot& snapshot,
                        std::uint32_t lanes) const {
  if (snapshot.epoch == 0) return snapshot.others;
  auto clock = std::make_shared<Clock>();
  if (snapshot.others != nullptr) clock->entries = snapshot.others->entries;
  const auto add = [&](std::uint32_t slot) {
    clock->entries.emplace_back(Clock::key(warp.number, false, slot), snapshot.epoch);
    clock->entries.emplace_back(Clock::key(warp.number, true, slot), snapshot.async);
  };
  if (is_whole(warp, lanes)) {
    add(Clock::kAllLanesSlot);
  } else {
    each_lane(lanes,
              [&](std::size_t lane) { add(Clock::slot_of(static_cast<std::uint32_t>(lane))); });
  }
  clock->sort();
  return clock;
}

/// All that `lanes` know and have done.
ClockPtr Races::publish(const BlockRaces& block, const WarpClock& warp, std::uint32_t lanes) const {
  ClockPtr result;
  std::uint32_t async = 0xffffffffU;
  const bool whole = is_whole(warp, lanes);
  for (const Group& group : warp.groups) {
    const std::uint32_t part = group.lanes & lanes;
    if (part == 0) continue;
    async = std::min(async, group.async);
    Snapshot now{others_of(block, group), warp.now, group.async};
    auto clock = std::make_shared<Clock>(*now.others);
    const auto add = [&](bool is_async, std::uint32_t slot, std::uint32_t epoch) {
      clock->entries.emplace_back(Clock::key(warp.number, is_async, slot), epoch);
    };
    if (whole) {
      add(false, Clock::kAllLanesSlot, warp.now);
    }
    each_lane(part, [&](std::size_t lane) {
      const std::uint32_t slot = Clock::slot_of(static_cast<std::uint32_t>(lane));
      if (!whole) add(false, slot, warp.now);
      if (!whole || warp.groups.size() > 1) add(true, slot, group.async);
    });
    clock->sort();
    result = join(result, clock);
  }
  if (whole && async != 0xffffffffU && async != 0) {
    auto clock = std::make_shared<Clock>();
    clock->entries.emplace_back(Clock::key(warp.number, true, Clock::kAllLanesSlot), async);
    result = join(result, clock);
  }
  return result;
}

void Races::barrier_arrives(Warp& warp, std::uint32_t number, std::uint32_t lanes) {
  BlockRaces& block = of(*warp.block);
  WarpClock& clock = of(warp);
  BarrierClock& barrier = block.barriers[number];
  barrier.seen.resize(std::size_t{2} * warps_per_block_, 0);
  const bool simple = is_whole(clock, lanes) && clock.groups.size() == 1;
  if (!simple) barrier.extra = join(barrier.extra, publish(block, clock, lanes));
  for (const Group& group : clock.groups) {
    const std::uint32_t part = group.lanes & lanes;
    if (part == 0) continue;
    for (std::size_t i = 0; i < group.seen.size(); ++i) {
      barrier.seen[i] = std::max(barrier.seen[i], group.seen[i]);
    }
    if (simple) {
      barrier.extra = join(barrier.extra, group.extra);
      std::uint32_t& copies = barrier.seen[warps_per_block_ + clock.index];
      copies = std::max(copies, group.async);
    }
    for (std::size_t scope = 0; scope < 2; ++scope) {
      if (group.fences[scope].empty()) continue;
      barrier.fences[scope] =
          join(barrier.fences[scope], publish(clock, group.fences[scope], part));
    }
  }
  if (is_whole(clock, lanes)) barrier.seen[clock.index] = clock.now;
  ++clock.now;
}

void Races::barrier_completes(Block& block, std::uint32_t number) {
  BlockRaces& races = of(block);
  BarrierClock& barrier = races.barriers[number];
  if (barrier.seen.empty()) return;
  for (const Warp& warp : block.warps) {
    std::uint32_t lanes = 0;
    for (const Split& split : warp.splits) {
      if (split.state == Split::State::barrier && split.barrier == number) lanes |= split.mask;
    }
    if (lanes == 0) continue;
    WarpClock& clock = of(warp);
    lanes |= ~warp.live;  // What exited lanes know does not matter: no group of their own.
    // Parts that stay behind come after the others.
    const std::size_t count = clock.groups.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t part = clock.groups[i].lanes & lanes;
      if (part == 0) continue;
      Group& group = clock.part(clock.groups[i], part);
      for (std::size_t j = 0; j < group.seen.size(); ++j) {
        group.seen[j] = std::max(group.seen[j], barrier.seen[j]);
      }
      learn(races, group, barrier.extra);
      for (std::size_t scope = 0; scope < 2; ++scope) {
        group.fences[scope].others = join(group.fences[scope].others, barrier.fences[scope]);
      }
    }
    if (clock.groups.size() > 1) clock.unite();
  }
  barrier.extra = nullptr;
  for (ClockPtr& fence : barrier.fences) fence = nullptr;
  std::fill(barrier.seen.begin(), barrier.seen.end(), 0U);
}

void Races::warp_barrier(Warp& warp, std::uint32_t lanes) {
  BlockRaces& block = of(*warp.block);
  WarpClock& clock = of(warp);
  const bool whole = is_whole(clock, lanes);
  if ((warp.live & ~lanes) == 0 && whole && clock.groups.size() == 1 &&
      clock.groups[0].fences[kCta].empty()) {
    Group& group = clock.groups[0];
    group.seen[clock.index] = clock.now;
    std::uint32_t& copies = group.seen[warps_per_block_ + clock.index];
    copies = std::max(copies, group.async);
    ++clock.now;
    return;
  }
  const ClockPtr all = publish(block, clock, lanes);
  ClockPtr fences[2];
  for (const Group& group : clock.groups) {
    for (std::size_t scope = 0; scope < 2; ++scope) {
      if ((group.lanes & lanes) == 0 || group.fences[scope].empty()) continue;
      fences[scope] = join(fences[scope], publish(clock, group.fences[scope], group.lanes & lanes));
    }
  }
  lanes |= ~warp.live;
  const std::size_t count = clock.groups.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t part = clock.groups[i].lanes & lanes;
    if (part == 0) continue;
    Group& group = clock.part(clock.groups[i], part);
    learn(block, group, all);
    for (std::size_t scope = 0; scope < 2; ++scope) {
      group.fences[scope].others = join(group.fences[scope].others, fences[scope]);
    }
  }
  ++clock.now;
  clock.unite();
}

void Races::fence(Context& x) {
  const Traits& traits = this->traits(x.pc);
  BlockRaces& block = of(*x.block);
  WarpClock& clock = of(*x.warp);
  const std::size_t count = clock.groups.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t part = clock.groups[i].lanes & (x.active | ~x.warp->live);
    if (part == 0) continue;
    Group& group = clock.part(clock.groups[i], part);
    if (traits.acquires()) {
      learn(block, group, group.observed.take(block.number, traits.scope));
    }
    if (traits.sequential) {
      learn(block, group, group.fences[kCta].others);
      if (traits.scope == Scope::gpu) learn(block, group, group.fences[kGpu].others);
    }
    if (!traits.releases()) continue;
    const Snapshot now{others_of(block, group), clock.now, group.async};
    group.released[kCta] = now;
    if (traits.scope == Scope::gpu) group.released[kGpu] = now;
    if (!traits.sequential) continue;
    for (const std::size_t scope : {kCta, kGpu}) {
      if (scope == kGpu && traits.scope != Scope::gpu) continue;
      group.fences[scope] = {join(group.fences[scope].others, now.others), now.epoch, now.async};
    }
  }
  if (traits.releases()) ++clock.now;
  if (clock.groups.size() > 1) clock.unite();
}

void Races::copies_committed(Context& x) {
  WarpClock& clock = of(*x.warp);
  if (clock.commits.size() == kMostCommits) {
    clock.commits.erase(clock.commits.begin(), clock.commits.begin() + kMostCommits / 2);
  }
  clock.commits.emplace_back(clock.async_now, x.active);
  ++clock.async_now;
}

void Races::copies_awaited(Context& x, std::uint32_t pending) {
  WarpClock& clock = of(*x.warp);
  std::uint32_t left = x.active;
  while (left != 0) {
    // Lanes that have committed alike.
    const auto first = static_cast<std::uint32_t>(std::countr_zero(left));
    const std::uint32_t done = clock.copies_done(first, pending);
    std::uint32_t alike = 0;
    each_lane(left, [&](std::size_t lane) {
      if (clock.copies_done(static_cast<std::uint32_t>(lane), pending) == done) {
        alike |= kLaneBit[lane];
      }
    });
    left &= ~alike;
    set_copies_done(*x.warp, alike, done);
  }
}

void Races::all_copies_awaited(Context& x) {
  WarpClock& clock = of(*x.warp);
  set_copies_done(*x.warp, x.active, clock.async_now);
  ++clock.async_now;
}

void Races::set_copies_done(const Warp& warp, std::uint32_t lanes, std::uint32_t epoch) {
  WarpClock& clock = of(warp);
  lanes |= ~warp.live;
  const std::size_t count = clock.groups.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t part = clock.groups[i].lanes & lanes;
    if (part == 0 || clock.groups[i].async >= epoch) continue;
    clock.part(clock.groups[i], part).async = epoch;
  }
  if (clock.groups.size() > 1) clock.unite();
}

void Races::mbarrier_arrives(Context& x, std::size_t lane, const std::byte* place, bool with_copies,
                             bool completes) {
  BlockRaces& block = of(*x.block);
  WarpClock& clock = of(*x.warp);
  PhaseClock& phase = block.phases[static_cast<std::uint32_t>(place - x.block->shared.data())];
  ClockPtr arriving = publish(block, clock, kLaneBit[lane]);
  if (with_copies) {
    auto copies = std::make_shared<Clock>();
    copies->entries.emplace_back(
        Clock::key(clock.number, true, Clock::slot_of(static_cast<std::uint32_t>(lane))),
        clock.async_now);
    arriving = join(arriving, copies);
    ++clock.async_now;
  }
  ++clock.now;
  phase.arriving = join(phase.arriving, arriving);
  if (completes) {
    phase.completed = join(phase.completed, phase.arriving);
    phase.arriving = nullptr;
  }
}

void Races::mbarrier_observed(Context& x, std::uint32_t lanes, const HostAddresses& places) {
  BlockRaces& block = of(*x.block);
  WarpClock& clock = of(*x.warp);
  each_lane(lanes, [&](std::size_t lane) {
    const auto found =
        block.phases.find(static_cast<std::uint32_t>(places[lane] - x.block->shared.data()));
    if (found == block.phases.end()) return;
    for (Group& group : clock.groups) {
      if ((group.lanes & kLaneBit[lane]) == 0) continue;
      if (!knows(block, group, found->second.completed)) {
        learn(block, clock.part(group, kLaneBit[lane]), found->second.completed);
      }
      return;
    }
  });
  if (clock.groups.size() > 1) clock.unite();
}

}  // namespace bitgate::machine::hazard
