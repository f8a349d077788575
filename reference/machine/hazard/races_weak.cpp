#include <immintrin.h>

#include <bit>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/races.h"
#include "reference/machine/hazard/races_internal.h"

// Weak accesses and asynchronous copies: which of their lanes touch which places, as few times as
// that can be said.

namespace bitgate::machine::hazard {

namespace {

/// Lanes whose address is that of `lane`.
std::uint32_t lanes_at(const HostAddresses& host, std::size_t lane) {
  const __m256i address = _mm256_set1_epi64x(static_cast<long long>(host.at[lane]));
  const auto* all = reinterpret_cast<const __m256i*>(host.at.data());
  std::uint32_t lanes = 0;
  for (int i = 0; i < kLanes / 4; ++i) {
    const __m256i equal = _mm256_cmpeq_epi64(_mm256_load_si256(all + i), address);
    lanes |= static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(equal))) << 4 * i;
  }
  return lanes;
}

}  // namespace

/// A read of a part that nobody writes.
inline bool Races::is_constant(const MemoryAccess& access) const {
  if (access.access != Access::read) return false;
  const auto inside = [&](const std::byte* at) {
    return at >= constant_begin_ && at < constant_end_;
  };
  if (access.run != nullptr) return inside(access.run);
  for (std::uint32_t left = access.lanes; left != 0; left &= left - 1) {
    if (!inside(access.at(static_cast<std::size_t>(std::countr_zero(left))))) return false;
  }
  return true;
}

void Races::access(Context& x, const Op&, const MemoryAccess& access) {
  if (access.space != Space::shared && access.space != Space::global) return;
  if (access.space == Space::global && is_constant(access)) return;
  const Traits& traits = this->traits(x.pc);
  of(*x.warp).accessed |= access.collective ? x.active : access.lanes;
  if (traits.strong()) {
    strong_access(x, access, traits);
  } else {
    weak_access(x, access, traits);
  }
}

void Races::enter(Actor& actor, const Context& x, Space space) const {
  if (space != Space::shared) return;
  actor.cells = &actor.block->shared;
  actor.begin = x.block->shared.data();
  actor.end = actor.begin + x.block->shared_bytes;
}

/// The cells of the part of memory that `at` lies in.
bool Races::find_cells(Actor& actor, std::byte* at, bool read) {
  if (actor.holds(at)) return true;
  if (read && at >= constant_begin_ && at < constant_end_) return false;
  Region* region = region_of(at);
  if (region == nullptr) return false;
  if (region->read_only && read) {
    constant_begin_ = region->begin;
    constant_end_ = region->end;
    return false;
  }
  actor.region = region;
  actor.cells = region->cells.empty() ? nullptr : &region->cells;
  actor.begin = region->begin;
  actor.end = region->end;
  actor.bias = region->bias;
  return actor.cells != nullptr;
}

/// Makes the actor one whose places say which lane was there. Its cells are found.
bool Races::become_run(Actor& actor, std::byte* run, std::uint32_t bytes_of_lane) const {
  WarpClock& warp = *actor.warp;
  const std::uint64_t offset = actor.offset(run);
  if (warp.runs_epoch != warp.now + warp.async_now) {
    warp.runs_epoch = warp.now + warp.async_now;
    warp.runs = 0;
  }
  // A read by .nc looks at the latest writer of each word.
  if (warp.groups.size() != 1 || warp.groups[0].lanes != kAllLanes || offset % 4 != 0 ||
      actor.what.non_coherent || warp.runs >= WarpClock::kMostRuns) {
    return false;
  }
  actor.what.who = Who::run;
  actor.what.lane_shift = static_cast<std::uint16_t>(std::countr_zero(bytes_of_lane));
  actor.what.phase = static_cast<std::uint16_t>(offset % (kLanes * bytes_of_lane));
  return true;
}

/// Each lane by itself, those of one address together where they read.
void Races::touch_lanes(Actor& actor, std::uint32_t lanes) {
  const MemoryAccess& access = *actor.access;
  if (actor.what.write) {
    each_lane(lanes, [&](std::size_t lane) {
      touch<true>(access.at(lane), access.bytes, kLaneBit[lane], actor);
    });
    return;
  }
  if (access.run == nullptr &&
      std::popcount(lanes_at(*access.host, static_cast<std::size_t>(std::countr_zero(lanes))) &
                    lanes) > 1) {
    return read_by_address(actor, lanes);
  }
  each_lane(lanes, [&](std::size_t lane) {
    touch<false>(access.at(lane), access.bytes, kLaneBit[lane], actor);
  });
}

void Races::read_by_address(Actor& actor, std::uint32_t lanes) {
  const MemoryAccess& access = *actor.access;
  while (lanes != 0) {
    const auto first = static_cast<std::size_t>(std::countr_zero(lanes));
    const std::uint32_t same = lanes_at(*access.host, first) & lanes;
    if (!actor.checked && !writes_are_settled(access.at(first), access.bytes, actor)) {
      // Lanes that read one place may differ in what they come after.
      each_lane(lanes, [&](std::size_t lane) {
        check_read(access.at(lane), access.bytes, kLaneBit[lane], actor);
      });
      actor.checked = true;
    }
    touch<false>(access.at(first), access.bytes, same, actor);
    lanes &= ~same;
  }
}

/// Of ldmatrix and its like: each row by all.
void Races::touch_rows(Actor& actor, std::uint32_t lanes) {
  const MemoryAccess& access = *actor.access;
  each_lane(access.lanes, [&](std::size_t lane) {
    if (actor.what.write) {
      touch<true>(access.at(lane), access.bytes, lanes, actor);
    } else {
      touch<false>(access.at(lane), access.bytes, lanes, actor);
    }
  });
}

void Races::weak_access(Context& x, const MemoryAccess& access, const Traits& traits) {
  BlockRaces& block = of(*x.block);
  WarpClock& warp = of(*x.warp);
  const bool write = access.access == Access::write;
  Record what = record_of(warp, x.pc, access, traits);
  what.non_coherent = traits.non_coherent;
  Actor actor(block, warp, what);
  actor.access = &access;
  actor.together = access.collective ? x.active : access.lanes;
  enter(actor, x, access.space);
  const auto first = static_cast<std::size_t>(std::countr_zero(access.lanes));
  if (actor.cells == nullptr && !find_cells(actor, access.at(first), !write)) {
    // All of it in one allocation is the rule; others are looked at lane by lane below.
    if (access.run != nullptr) return;
  }
  if (access.run != nullptr && become_run(actor, access.run, access.bytes)) {
    actor.record = record(warp, actor.what);
    actor.enter(warp.groups[0]);
    return touch_run(actor, access.run, access.bytes);
  }
  const bool alike = actor.together == kAllLanes && warp.groups[0].lanes == kAllLanes;
  if (alike && (access.collective ||
                (!write && access.run == nullptr && lanes_at(*access.host, 0) == kAllLanes))) {
    actor.what.who = Who::all;
  }
  actor.record = record(warp, actor.what);
  for (std::size_t i = 0; i < warp.groups.size(); ++i) {
    Group& group = warp.groups[i];
    const std::uint32_t lanes = group.lanes & actor.together;
    if (lanes == 0) continue;
    actor.enter(group);
    actor.checked = false;
    if (access.collective) {
      touch_rows(actor, lanes);
    } else {
      touch_lanes(actor, lanes);
    }
  }
}

namespace {

/// Whether the lanes' destinations follow each other.
bool is_run(const PendingCopy& copy) {
  if (copy.mask != kAllLanes) return false;
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    if (copy.destination[lane] != copy.destination[0] + lane * copy.bytes) return false;
  }
  return true;
}

}  // namespace

void Races::copy_issued(Context& x, const Op&, const PendingCopy& copy) {
  BlockRaces& block = of(*x.block);
  WarpClock& warp = of(*x.warp);
  warp.accessed |= copy.mask;
  Record what;
  what.warp = warp.number;
  what.epoch = warp.async_now;
  what.pc = x.pc;
  what.bytes = copy.bytes;
  what.async = true;

  std::uint32_t sources = 0;
  each_lane(copy.mask, [&](std::size_t lane) {
    const std::byte* const source = copy.source[lane];
    if (copy.source_bytes[lane] != 0 && (source < constant_begin_ || source >= constant_end_)) {
      sources |= kLaneBit[lane];
    }
  });
  if (sources != 0) {
    Actor reader(block, warp, what);
    reader.together = copy.mask;
    reader.record = record(warp, what);
    for (Group& group : warp.groups) {
      reader.enter(group);
      each_lane(group.lanes & sources, [&](std::size_t lane) {
        touch<false>(const_cast<std::byte*>(copy.source[lane]), copy.source_bytes[lane],
                     kLaneBit[lane], reader);
      });
    }
  }

  what.write = true;
  Actor writer(block, warp, what);
  writer.together = copy.mask;
  enter(writer, x, Space::shared);
  if (is_run(copy) && become_run(writer, copy.destination[0], copy.bytes)) {
    writer.record = record(warp, writer.what);
    writer.enter(warp.groups[0]);
    return touch_run(writer, copy.destination[0], copy.bytes);
  }
  writer.record = record(warp, what);
  for (Group& group : warp.groups) {
    writer.enter(group);
    each_lane(group.lanes & copy.mask, [&](std::size_t lane) {
      touch<true>(copy.destination[lane], copy.bytes, kLaneBit[lane], writer);
    });
  }
}

}  // namespace bitgate::machine::hazard
