#include "reference/machine/hazard/races.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/races_internal.h"
#include "reference/machine/hazard/site_of.h"
#include "reference/support/error.h"

// Cells and who touches them. What threads know of each other is in races_order.cpp.

namespace bitgate::machine::hazard {

namespace {

constexpr std::uint32_t kMostRecords = kListBit - 1;
constexpr std::size_t kRoom = std::size_t{1} << 14;  // of records and lists at first

/// Whether four cells are equal.
bool are_alike(const Cell* cell) {
  const auto load = [&](int i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(cell + i));
  };
  const __m128i first = load(0);
  const __m128i differ =
      _mm_or_si128(_mm_xor_si128(first, load(1)),
                   _mm_or_si128(_mm_xor_si128(first, load(2)), _mm_xor_si128(first, load(3))));
  return _mm_testz_si128(differ, differ) != 0;
}

}  // namespace

Races::Races(const LaunchState& state, ReportList& reports)
    : state_(state),
      reports_(reports),
      warps_per_block_(
          (state.launch->block.x * state.launch->block.y * state.launch->block.z + kLanes - 1) /
          kLanes),
      traits_(state.code->ops.size()),
      records_(1),
      nodes_(1) {
  records_.reserve(kRoom);
  nodes_.reserve(kRoom);
}

Races::~Races() = default;

const Traits& Races::traits(std::uint32_t pc) {
  auto& [known, traits] = traits_[pc];
  if (!known) {
    traits = traits_of(state_.code->debug[pc].mnemonic);
    known = true;
  }
  return traits;
}

void Races::start_block(Block& block) {
  std::unique_ptr<BlockRaces> races;
  if (free_.empty()) {
    races = std::make_unique<BlockRaces>();
    races->shared = Cells(block.shared_bytes);
    races->warps.resize(warps_per_block_);
  } else {
    races = std::move(free_.back());
    free_.pop_back();
  }
  const std::uint64_t first = block_numbers_.size() * std::uint64_t{warps_per_block_};
  if (first + warps_per_block_ > 0xffffffffU) {
    throw Unsupported("races in a launch of more than 2^32 warps");
  }
  block_numbers_.push_back(block.number);
  races->number = block.number;
  races->first_warp = static_cast<std::uint32_t>(first);
  races->first_record = static_cast<std::uint32_t>(records_.size());
  races->first_node = static_cast<std::uint32_t>(nodes_.size());
  races->places.clear();
  races->phases.clear();
  races->barriers = {};
  for (std::uint32_t i = 0; i < warps_per_block_; ++i) {
    WarpClock& warp = races->warps[i];
    warp = WarpClock{};
    warp.number = races->first_warp + i;
    warp.index = i;
    warp.groups.reserve(kLanes + 1);
    Group& group = warp.groups.emplace_back();
    group.lanes = kAllLanes;
    group.seen.assign(std::size_t{2} * warps_per_block_, 0);
  }
  block.races = races.get();
  blocks_.push_back(std::move(races));
}

void Races::finish_block(Block& block) {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const auto& other) { return other.get() == block.races; });
  if (found == blocks_.end()) return;
  free_.push_back(std::move(*found));
  blocks_.erase(found);
  block.races = nullptr;
}

Races::Region* Races::region_of(const std::byte* host) {
  if (last_region_ != nullptr && host >= last_region_->begin && host < last_region_->end) {
    return last_region_;
  }
  auto after = std::upper_bound(
      regions_.begin(), regions_.end(), host,
      [](const std::byte* p, const std::unique_ptr<Region>& region) { return p < region->begin; });
  if (after != regions_.begin() && host < (*std::prev(after))->end) {
    return last_region_ = std::prev(after)->get();
  }
  const GlobalMemory::Allocation* allocation = state_.memory->holding(host);
  if (allocation == nullptr) return nullptr;
  auto region = std::make_unique<Region>();
  region->begin = allocation->host;
  region->end = allocation->host + allocation->bytes;
  region->bias = allocation->address & 15U;
  region->address = allocation->address;
  region->name = allocation->name;
  region->read_only = allocation->read_only;
  if (!region->read_only) region->cells = Cells(allocation->bytes + region->bias);
  return last_region_ = regions_.insert(after, std::move(region))->get();
}

void Races::release(std::uint64_t address) {
  std::erase_if(regions_, [&](const auto& region) { return region->address == address; });
  last_region_ = nullptr;
}

std::uint32_t Races::record(WarpClock& warp, const Record& record) {
  std::uint32_t& recent =
      warp.recent[(record.pc * 2 + (record.write ? 1U : 0U)) % WarpClock::kRecent];
  if (recent != 0 && records_[recent] == record) return recent;
  if (records_.size() >= kMostRecords) {
    throw_fault(Fault::Kind::unsupported, -1, "unsupported: races among more than 2^31 accesses");
  }
  recent = static_cast<std::uint32_t>(records_.size());
  records_.push_back(record);
  return recent;
}

Ref Races::push(Ref next, std::uint32_t record, std::uint32_t lanes, std::uint32_t version) {
  Node node{next, record, lanes, version, false};
  const Record& what = records_[record];
  node.uniform = what.strong && !what.cta_scope;
  if (node.uniform && next != kNobody) {
    const Node& tail = nodes_[next & ~kListBit];
    node.uniform = tail.uniform && records_[tail.record].bytes == what.bytes;
  }
  const std::uint32_t hash = (next * 0x9e3779b1U) ^ (record * 0x85ebca6bU) ^ (lanes * 0xc2b2ae35U);
  std::uint32_t& recent = recent_nodes_[(hash >> 22) % recent_nodes_.size()];
  if (recent != 0 && version == 0) {
    const Node& other = nodes_[recent];
    if (other.next == next && other.record == record && other.lanes == lanes &&
        other.version == 0) {
      return recent | kListBit;
    }
  }
  if (nodes_.size() >= kListBit - 1) {
    throw_fault(Fault::Kind::unsupported, -1, "unsupported: races among more than 2^31 accesses");
  }
  recent = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(node);
  return recent | kListBit;
}

Races::Ordered Races::all_before(Ref ref, std::uint32_t lanes, const Actor& actor,
                                 const std::byte* at, bool against_write, Found& found) {
  const auto stale = [&](Ref r) {
    return is_list(r) ? (r & ~kListBit) < actor.block->first_node : r < actor.block->first_record;
  };
  if (ref == kNobody || (actor.region == nullptr && stale(ref))) return Ordered::everywhere;
  Ordered result = Ordered::everywhere;
  const auto look = [&](std::uint32_t number, std::uint32_t of, const Node* node) {
    const Record& record = records_[number];
    if (!against_write && record.non_coherent) {
      found.non_coherent = number;
      found.non_coherent_lanes = of;
    }
    if (actor.what.strong && morally_strong(record, actor)) {
      result = std::min(result, Ordered::here);
      return true;
    }
    Ordered order = before(record, of, actor);
    if (order == Ordered::no && node != nullptr && observed(*node, actor, at)) {
      order = Ordered::here;
    }
    result = std::min(result, order);
    if (order != Ordered::no) return true;
    found.record = number;
    found.lanes = of;
    return false;
  };
  if (!is_list(ref)) {
    look(ref, lanes, nullptr);
    return result;
  }
  const Node& head = nodes_[ref & ~kListBit];
  if (actor.what.strong && !actor.what.cta_scope && head.uniform &&
      records_[head.record].bytes == actor.what.bytes) {
    return Ordered::here;
  }
  for (Ref i = ref; i != kNobody; i = nodes_[i & ~kListBit].next) {
    const Node& node = nodes_[i & ~kListBit];
    if (!look(node.record, node.lanes, &node)) return Ordered::no;
  }
  return result;
}

void Races::add_reader(Cell& cell, std::byte* at, std::uint32_t lanes, Actor& actor) {
  Found found;
  const auto replaces = [&](std::uint32_t number) {
    const Record& old = records_[number];
    return (!actor.what.strong || old.strong) && (actor.what.non_coherent || !old.non_coherent);
  };
  const Ref head = cell.read;
  const bool list = is_list(head);
  const std::uint32_t latest = list ? nodes_[head & ~kListBit].record : head;
  const std::uint32_t latest_lanes = list ? nodes_[head & ~kListBit].lanes : cell.read_lanes;
  if (list && latest == actor.record) {
    if ((lanes & ~latest_lanes) == 0) return;
    cell.read = push(nodes_[head & ~kListBit].next, latest, latest_lanes | lanes, 0);
    return;
  }
  // A strong reader exempts itself from much; whom it replaces must come before it all the same.
  const bool strong = actor.what.strong;
  if (replaces(latest)) {
    actor.what.strong = false;
    const Ordered order = all_before(head, cell.read_lanes, actor, at, false, found);
    actor.what.strong = strong;
    if (order != Ordered::no) {
      if (order == Ordered::everywhere && !strong && found.non_coherent == 0) actor.ok_read = head;
      cell.read = actor.record;
      cell.read_lanes = lanes;
      return;
    }
    if (list && before(records_[latest], latest_lanes, actor) != Ordered::no) {
      cell.read = push(nodes_[head & ~kListBit].next, actor.record, lanes, 0);
      return;
    }
  }
  const Ref tail = list ? head : push(kNobody, head, cell.read_lanes, 0);
  cell.read = push(tail, actor.record, lanes, 0);
}

template <bool Write>
void Races::check_slowly(Cell& cell, std::byte* at, std::uint32_t bytes, std::uint32_t lanes,
                         Actor& actor) {
  actor.lanes = lanes;
  if (cell.write != kNobody && cell.write != actor.ok_write) {
    Found found;
    const Ordered order = all_before(cell.write, cell.write_lanes, actor, at, true, found);
    if (order == Ordered::no) {
      report(found, at, bytes, lanes, actor, Write);
    } else if (!Write && actor.what.non_coherent) {
      const Ref ref = cell.write;
      const bool list = is_list(ref);
      report_non_coherent(list ? nodes_[ref & ~kListBit].record : ref,
                          list ? nodes_[ref & ~kListBit].lanes : cell.write_lanes, at, bytes,
                          actor);
    } else if (order == Ordered::everywhere) {
      actor.ok_write = cell.write;
    }
  }
  if constexpr (Write) {
    if (cell.read != kNobody && cell.read != actor.ok_read) {
      Found found;
      const Ordered order = all_before(cell.read, cell.read_lanes, actor, at, false, found);
      if (order == Ordered::no) {
        report(found, at, bytes, lanes, actor, true);
      } else if (found.non_coherent != 0) {
        report_non_coherent(actor.record, lanes, at, bytes, actor);
      } else if (order == Ordered::everywhere) {
        actor.ok_read = cell.read;
      }
    }
    if (is_list(cell.write) && cell.write != kSplit) {
      (actor.region == nullptr ? actor.block->places : places_).erase(at);
    }
  }
}

/// The usual case: a record that all lanes of the actor's group come after.
inline bool Races::is_known(Ref ref, const Actor& actor) const {
  if (is_list(ref)) return false;
  const Record& record = records_[ref];
  const std::uint32_t index = record.warp - actor.block->first_warp;
  return index < warps_per_block_ &&
         actor.group->seen[index + (record.async ? warps_per_block_ : 0)] >= record.epoch;
}

template <bool Write>
inline void Races::touch_cell(Cell& cell, std::byte* at, std::uint32_t bytes, std::uint32_t lanes,
                              Actor& actor) {
  if constexpr (Write) {
    if ((cell.write != kNobody && cell.write != actor.ok_write && !is_known(cell.write, actor)) ||
        (cell.read != kNobody && cell.read != actor.ok_read &&
         (actor.region != nullptr || !is_known(cell.read, actor)))) {
      check_slowly<true>(cell, at, bytes, lanes, actor);
    }
    cell = {actor.record, lanes, kNobody, 0};
  } else {
    if (cell.write != kNobody && cell.write != actor.ok_write &&
        (actor.what.non_coherent || !is_known(cell.write, actor))) {
      check_slowly<false>(cell, at, bytes, lanes, actor);
    }
    if (cell.read == actor.record) {
      cell.read_lanes |= lanes;
    } else if (cell.read == kNobody || cell.read == actor.ok_read ||
               (actor.region == nullptr && is_known(cell.read, actor))) {
      cell.read = actor.record;
      cell.read_lanes = lanes;
    } else if (cell.read == actor.read_before && cell.read_lanes == actor.read_before_lanes &&
               lanes == actor.reading_lanes) {
      cell.read = actor.read_after;
    } else {
      actor.read_before = cell.read;
      actor.read_before_lanes = cell.read_lanes;
      actor.reading_lanes = lanes;
      actor.lanes = lanes;
      add_reader(cell, at, lanes, actor);
      // Where it did not become a list, the lanes beside it have changed as well.
      if (!is_list(cell.read)) actor.read_before = kNobody;
      actor.read_after = cell.read;
    }
  }
}

ByteCells& Races::split(Cell& cell) {
  if (cell.write == kSplit) return byte_cells_[cell.write_lanes];
  std::uint32_t number = 0;
  if (free_byte_cells_.empty()) {
    number = static_cast<std::uint32_t>(byte_cells_.size());
    byte_cells_.emplace_back();
  } else {
    number = free_byte_cells_.back();
    free_byte_cells_.pop_back();
  }
  for (Cell& byte : byte_cells_[number].byte) byte = cell;
  cell = {kSplit, number, kNobody, 0};
  return byte_cells_[number];
}

/// The cells of the part of memory that `at` lies in.
bool Races::find_cells(Actor& actor, std::byte* at, bool read) {
  if (actor.cells != nullptr && at >= actor.begin && at < actor.end) return true;
  if (read && at >= actor.constant_begin && at < actor.constant_end) return false;
  Region* region = region_of(at);
  if (region == nullptr) return false;
  if (region->read_only && read) {
    actor.constant_begin = region->begin;
    actor.constant_end = region->end;
    return false;
  }
  actor.region = region;
  actor.cells = region->cells.data();
  actor.begin = region->begin;
  actor.end = region->end;
  actor.bias = region->bias;
  return actor.cells != nullptr;
}

template <bool Write>
void Races::touch_words(Cell* cell, std::byte* at, std::uint32_t bytes, std::uint32_t lanes,
                        Actor& actor) {
  for (std::uint32_t i = 0; i < bytes; i += 4, ++cell) {
    if (cell->write != kSplit) [[likely]] {
      touch_cell<Write>(*cell, at + i, 4, lanes, actor);
      continue;
    }
    const std::uint32_t number = cell->write_lanes;
    for (std::uint32_t b = 0; b < 4; ++b) {
      touch_cell<Write>(byte_cells_[number].byte[b], at + i + b, 1, lanes, actor);
    }
    if constexpr (Write) {
      *cell = byte_cells_[number].byte[0];
      free_byte_cells_.push_back(number);
    }
  }
}

template <bool Write>
void Races::touch(std::byte* at, std::uint32_t bytes, std::uint32_t lanes, Actor& actor) {
  if (!find_cells(actor, at, !Write)) return;
  const std::uint64_t offset = static_cast<std::uint64_t>(at - actor.begin) + actor.bias;
  Cell* cell = actor.cells + offset / 4;
  if (((offset | bytes) & 15U) == 0) {
    for (std::uint32_t i = 0; i < bytes; i += 16, cell += 4) {
      // Four words that are alike stay so.
      if (cell->write != kSplit && are_alike(cell)) [[likely]] {
        touch_cell<Write>(*cell, at + i, 16, lanes, actor);
        cell[1] = cell[2] = cell[3] = cell[0];
      } else {
        touch_words<Write>(cell, at + i, 16, lanes, actor);
      }
    }
    return;
  }
  if (((offset | bytes) & 3U) == 0) return touch_words<Write>(cell, at, bytes, lanes, actor);
  for (std::uint32_t i = 0; i < bytes; ++i) {
    const std::uint64_t place = offset + i;
    split(actor.cells[place / 4]);
    const std::uint32_t number = actor.cells[place / 4].write_lanes;
    touch_cell<Write>(byte_cells_[number].byte[place % 4], at + i, 1, lanes, actor);
  }
}

void Races::access(Context& x, const Op& op, const MemoryAccess& access) {
  if (access.space != Space::shared && access.space != Space::global) return;
  const Traits& traits = this->traits(x.pc);
  of(*x.warp).accessed |= access.collective ? x.active : access.lanes;
  if (traits.strong()) {
    strong_access(x, op, access, traits);
  } else {
    weak_access(x, op, access);
  }
}

void Races::enter(Actor& actor, const Context& x, Space space) const {
  if (space != Space::shared) return;
  actor.cells = actor.block->shared.data();
  actor.begin = x.block->shared.data();
  actor.end = actor.begin + x.block->shared_bytes;
}

namespace {

/// Whether all lanes' addresses are one.
bool one_address(const MemoryAccess& access) {
  if (access.run != nullptr || std::popcount(access.lanes) < 2) return false;
  const std::byte* first = access.at(static_cast<std::size_t>(std::countr_zero(access.lanes)));
  for (std::uint32_t left = access.lanes; left != 0; left &= left - 1) {
    if (access.at(static_cast<std::size_t>(std::countr_zero(left))) != first) return false;
  }
  return true;
}

}  // namespace

void Races::weak_access(Context& x, const Op&, const MemoryAccess& access) {
  BlockRaces& block = of(*x.block);
  WarpClock& warp = of(*x.warp);
  const Traits& traits = this->traits(x.pc);
  const bool write = access.access == Access::write;
  Record what = record_of(warp, x.pc, access, traits);
  what.non_coherent = traits.non_coherent;
  Actor actor(block, warp, what);
  actor.access = &access;
  actor.together = access.collective ? x.active : access.lanes;
  enter(actor, x, access.space);
  if (actor.cells == nullptr &&
      !find_cells(actor, access.at(static_cast<std::size_t>(std::countr_zero(access.lanes))),
                  !write)) {
    // All of it in one allocation is the rule; others are looked at lane by lane below.
    if (access.run != nullptr) return;
  }
  actor.record = record(warp, what);
  const bool together = access.collective || (!write && one_address(access));
  const auto visit = [&](std::byte* at, std::uint32_t lanes) {
    if (write) {
      touch<true>(at, access.bytes, lanes, actor);
    } else {
      touch<false>(at, access.bytes, lanes, actor);
    }
  };
  for (std::size_t i = 0; i < warp.groups.size(); ++i) {
    Group& group = warp.groups[i];
    const std::uint32_t lanes = group.lanes & actor.together;
    if (lanes == 0) continue;
    actor.group = &group;
    actor.ok_write = actor.ok_read = actor.read_before = kNobody;
    if (together) {
      std::uint32_t rows = access.collective ? access.lanes : access.lanes & -access.lanes;
      each_lane(rows, [&](std::size_t lane) { visit(access.at(lane), lanes); });
    } else {
      each_lane(lanes, [&](std::size_t lane) { visit(access.at(lane), kLaneBit[lane]); });
    }
  }
}

void Races::copy_issued(Context& x, const Op&, const PendingCopy& copy) {
  BlockRaces& block = of(*x.block);
  WarpClock& warp = of(*x.warp);
  warp.accessed |= copy.mask;
  Record what;
  what.warp = warp.number;
  what.epoch = warp.async_now;
  what.pc = x.pc;
  what.async = true;
  for (const bool write : {false, true}) {
    what.write = write;
    what.bytes = copy.bytes;
    Actor actor(block, warp, what);
    actor.together = copy.mask;
    if (write) enter(actor, x, Space::shared);
    actor.record = record(warp, what);
    for (Group& group : warp.groups) {
      actor.group = &group;
      actor.ok_write = actor.ok_read = actor.read_before = kNobody;
      each_lane(group.lanes & copy.mask, [&](std::size_t lane) {
        if (write) {
          touch<true>(copy.destination[lane], copy.bytes, kLaneBit[lane], actor);
        } else if (copy.source_bytes[lane] != 0) {
          touch<false>(const_cast<std::byte*>(copy.source[lane]), copy.source_bytes[lane],
                       kLaneBit[lane], actor);
        }
      });
    }
  }
}

std::uint64_t Races::bytes() const {
  std::uint64_t result = records_.capacity() * sizeof(Record) + nodes_.capacity() * sizeof(Node) +
                         byte_cells_.capacity() * sizeof(ByteCells);
  for (const auto& region : regions_) result += region->cells.resident_bytes();
  for (const auto* blocks : {&blocks_, &free_}) {
    for (const auto& block : *blocks) {
      result += block->shared.resident_bytes();
      result += block->warps.size() *
                (sizeof(WarpClock) + sizeof(Group) + 8 * std::uint64_t{warps_per_block_});
    }
  }
  return result;
}

template void Races::touch<true>(std::byte*, std::uint32_t, std::uint32_t, Actor&);
template void Races::touch<false>(std::byte*, std::uint32_t, std::uint32_t, Actor&);

}  // namespace bitgate::machine::hazard
