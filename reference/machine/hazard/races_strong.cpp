#include <algorithm>
#include <bit>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/races.h"
#include "reference/machine/hazard/races_internal.h"

// Strong accesses: atomics, relaxed, acquire, release and volatile ones (PTX ISA 8.5, 8.9). Memory
// is sequentially consistent here: what an access observes is the latest write.

namespace bitgate::machine::hazard {

namespace {

constexpr std::size_t kGpu = static_cast<std::size_t>(Scope::gpu);
constexpr std::size_t kCta = static_cast<std::size_t>(Scope::cta);
/// Observations that are remembered of one place; the latest are those that matter.
constexpr std::size_t kMostObservations = 4096;

}  // namespace

/// What an access learns from the latest write of its place (a release pattern that it completes),
/// now if it acquires, and in any case at a later fence.
void Races::observe(Actor& actor, const Traits& traits, SyncPlace& place, std::uint32_t lane) {
  const std::uint64_t block = actor.block->number;
  const ClockPtr now = traits.acquires() ? place.offer.take(block, traits.scope) : ClockPtr();
  const ClockPtr fences = place.fences.take(block, Scope::gpu);
  const bool news = !knows(*actor.block, *actor.group, now) ||
                    !actor.group->observed.covers(place.offer) ||
                    !covers(actor.group->fences[kCta].others, fences);
  if (news) {
    Group& group = actor.warp->part(*actor.group, kLaneBit[lane]);
    actor.group = &group;
    learn(*actor.block, group, now);
    group.observed.add(place.offer);
    group.fences[kGpu].others = join(group.fences[kGpu].others, place.fences.all);
    group.fences[kCta].others =
        join(group.fences[kCta].others, place.fences.take(block, Scope::cta));
  }
  auto& observations = place.observations;
  if (!observations.empty() && observations.back().warp == actor.warp->number &&
      observations.back().lane == lane && observations.back().epoch == actor.warp->now) {
    observations.back().version = place.version;
    return;
  }
  if (observations.size() == kMostObservations) {
    observations.erase(observations.begin(), observations.begin() + kMostObservations / 2);
  }
  observations.push_back({actor.warp->number, lane, actor.warp->now, place.version});
}

/// What a write offers to those that observe it; `continues`: besides what the write before did.
void Races::offer(Actor& actor, const Traits& traits, SyncPlace& place, std::uint32_t lane,
                  bool continues) {
  const std::uint64_t block = actor.block->number;
  const Group& group = *actor.group;
  const WarpClock& warp = *actor.warp;
  if (!continues) {
    place.offer = {};
    place.fences = {};
  }
  if (traits.releases()) {
    place.offer.add(block, traits.scope, publish(*actor.block, warp, kLaneBit[lane]));
  }
  if (!group.released[kCta].empty()) {
    place.offer.add(block, Scope::cta, publish(warp, group.released[kCta], kLaneBit[lane]));
  }
  if (!group.released[kGpu].empty()) {
    place.offer.add(block, Scope::gpu, publish(warp, group.released[kGpu], kLaneBit[lane]));
  }
  if (!group.fences[kCta].empty()) {
    place.fences.add(block, Scope::cta, publish(warp, group.fences[kCta], kLaneBit[lane]));
  }
  if (!group.fences[kGpu].empty()) {
    place.fences.add(block, Scope::gpu, publish(warp, group.fences[kGpu], kLaneBit[lane]));
  }
  place.scope = traits.scope;
  place.block = block;
  place.bytes = actor.what.bytes;
  ++place.version;
}

void Races::touch_cell_strongly(Cell& cell, std::byte* at, std::uint32_t bytes, std::uint32_t lane,
                                Actor& actor, bool write, std::uint32_t version) {
  const std::uint32_t lanes = kLaneBit[lane];
  actor.lanes = lanes;
  if (is_stale(cell.write, actor)) cell.write = kNobody;
  Found found;
  if (all_before(cell.write, cell.write_lanes, actor, at, true, found) == Ordered::no) {
    report(found, at, bytes, lanes, actor, write);
    // The weak write raced; what follows is judged by the strong ones alone.
    if (!is_list(cell.write)) cell.write = kNobody;
  }
  if (!write) {
    if (cell.read == kNobody) {
      cell.read = actor.record;
      cell.read_lanes = lanes;
    } else if (cell.read == actor.record) {
      cell.read_lanes |= lanes;
    } else {
      add_reader(cell, at, lanes, actor);
    }
    return;
  }
  found = {};
  if (all_before(cell.read, cell.read_lanes, actor, at, false, found) == Ordered::no) {
    report(found, at, bytes, lanes, actor, true);
    cell.read = kNobody;
  }
  Ref tail = cell.write;
  if (!is_list(tail)) {
    // A weak write that came before all this.
    tail = kNobody;
  } else {
    const Node& head = nodes_[tail & ~kListBit];
    const Record& record = records_[head.record];
    if (record.warp == actor.warp->number && (head.lanes == lanes || head.record == actor.record)) {
      cell.write = push(head.next, actor.record,
                        head.record == actor.record ? head.lanes | lanes : lanes, version);
      return;
    }
  }
  cell.write = push(tail, actor.record, lanes, version);
}

void Races::touch_strongly(std::byte* at, std::uint32_t bytes, std::uint32_t lane, Actor& actor,
                           bool write, std::uint32_t version) {
  if (!find_cells(actor, at, !write)) return;
  const std::uint64_t offset = actor.offset(at);
  const Cells& cells = *actor.cells;
  for (std::uint64_t place = offset; place < offset + bytes;) {
    const bool whole = place % 4 == 0 && offset + bytes - place >= 4;
    Cell cell = cells.load(place / 4);
    std::byte* const here = at + (place - offset);
    if (whole && cell.write != kSplit && grain(cell.write) >= 2 && grain(cell.read) >= 2) {
      touch_cell_strongly(cell, here, 4, lane, actor, write, version);
      cells.store(place / 4, cell);
      place += 4;
      continue;
    }
    const std::uint32_t number = split(cells, place / 4);
    touch_cell_strongly(byte_cells_[number].byte[place % 4], here, 1, lane, actor, write, version);
    ++place;
  }
}

/// One element of one lane's access.
void Races::strong_lane(Actor& actor, const Traits& traits, std::byte* at, std::uint32_t bytes,
                        std::uint32_t lane, bool write) {
  if (!find_cells(actor, at, !write)) return;
  SyncPlaces& places = actor.region == nullptr ? actor.block->places : places_;
  SyncPlace* place = nullptr;
  if (write) {
    place = &places[at];
  } else if (const auto found = places.find(at); found != places.end()) {
    place = &found->second;
  }
  bool observes = false;
  if (place != nullptr && place->version != 0 && !traits.phases) {
    observes =
        place->bytes == bytes && (place->block == actor.block->number ||
                                  (place->scope == Scope::gpu && traits.scope == Scope::gpu));
    if (observes && traits.observes && (traits.atomic || !write)) {
      observe(actor, traits, *place, lane);
    }
  }
  touch_strongly(at, bytes, lane, actor, write, place == nullptr ? 0 : place->version + 1);
  if (!write) return;
  // A read-modify-write passes on what it observed: release sequences go through it.
  offer(actor, traits, *place, lane, traits.atomic && observes);
  if (traits.atomic && traits.observes) {
    // Its own write is one of those that it has seen.
    place->observations.push_back({actor.warp->number, lane, actor.warp->now, place->version});
  }
}

void Races::strong_access(Context& x, const MemoryAccess& access, const Traits& traits) {
  BlockRaces& block = of(*x.block);
  WarpClock& warp = of(*x.warp);
  const bool write = access.access == Access::write;
  Record what = record_of(warp, x.pc, access, traits);
  what.strong = true;
  what.atomic = traits.atomic;
  what.cta_scope = traits.scope == Scope::cta;
  Actor actor(block, warp, what);
  actor.access = &access;
  actor.together = access.lanes;
  enter(actor, x, access.space);
  actor.record = record(warp, what);
  each_lane(access.lanes, [&](std::size_t lane) {
    for (Group& group : warp.groups) {
      if ((group.lanes & kLaneBit[lane]) != 0) actor.group = &group;
    }
    actor.ok_write = actor.ok_read = kNobody;
    for (std::uint32_t i = 0; i < traits.elements; ++i) {
      strong_lane(actor, traits, access.at(lane) + std::size_t{i} * what.bytes, what.bytes,
                  static_cast<std::uint32_t>(lane), write);
    }
  });
  if (write && traits.releases() && !traits.phases) ++warp.now;
  if (warp.groups.size() > 1) warp.unite();
}

}  // namespace bitgate::machine::hazard
