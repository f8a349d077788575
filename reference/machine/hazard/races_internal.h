#pragma once

#include <array>
#include <string>

#include "reference/machine/hazard/races.h"

namespace bitgate::machine::hazard {

/// An allocation of global memory that was accessed.
struct Races::Region {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  std::uint64_t bias = 0;  ///< makes multiples of 4 of device addresses and of host offsets agree
  std::uint64_t address = 0;
  std::string name;
  bool read_only = false;
  Cells cells;
};

/// Who is accessing: lanes of a warp that know the same, at one instruction.
struct Races::Actor {
  BlockRaces* block = nullptr;
  WarpClock* warp = nullptr;
  Group* group = nullptr;
  std::uint32_t record = 0;
  Record what;
  std::uint32_t lanes = 0;     ///< of the access that is being looked at
  std::uint32_t together = 0;  ///< all lanes that execute the instruction
  const MemoryAccess* access = nullptr;

  // Where it is: a part of memory with its cells.
  const Cells* cells = nullptr;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  std::uint64_t bias = 0;
  const Region* region = nullptr;  ///< null: shared memory

  // What came before the actor, at whichever of its places: no list of writes where it writes.
  Ref ok_write = kNobody;
  Ref ok_read = kNobody;
  std::array<Ref, 8> ok_lists{};  ///< of reads, by number
  bool checked = false;           ///< against the writes before it

  // Who had read a place when the actor was added to it last, by which lanes if that matters, and
  // what that gave: neighbours are often alike.
  Ref read_before = kNobody;
  bool before_needs_lanes = false;
  std::uint32_t read_before_lanes = 0;
  std::uint32_t reading_lanes = 0;
  Ref read_after = kNobody;

  // The race found last, which one access's further bytes continue.
  std::size_t last_report = 0;
  std::uint32_t last_other = 0;
  std::uint32_t last_lanes = 0;
  std::byte* last_end = nullptr;

  Actor(BlockRaces& b, WarpClock& w, const Record& r) : block(&b), warp(&w), what(r) {}

  void enter(Group& other) {
    group = &other;
    ok_write = ok_read = read_before = kNobody;
    ok_lists = {};
  }
  void set_ok_read(Ref ref) {
    ok_read = ref;
    if (is_list(ref)) ok_lists[ref % ok_lists.size()] = ref;
  }
  /// Whether its cells are those of `at`.
  bool holds(const std::byte* at) const { return cells != nullptr && at >= begin && at < end; }
  std::uint64_t offset(const std::byte* at) const {
    return static_cast<std::uint64_t>(at - begin) + bias;
  }
  /// What stands beside a reference to its record.
  std::uint32_t beside(std::uint32_t of) const { return what.who == Who::cell ? of : 0; }
};

/// An access that another one is not ordered after.
struct Races::Found {
  std::uint32_t record = 0;
  std::uint32_t lanes = 0;
  std::uint32_t non_coherent = 0;  ///< a `.nc` read among those that are ordered
  std::uint32_t non_coherent_lanes = 0;
};

/// Of a block whose shared memory lay here before.
inline bool Races::is_stale(Ref ref, const Actor& actor) const {
  return actor.region == nullptr && (is_list(ref) ? (ref & ~kListBit) < actor.block->first_node
                                                  : ref < actor.block->first_record);
}

/// What is remembered of an access, but for how strong it is.
inline Record record_of(const WarpClock& warp, std::uint32_t pc, const MemoryAccess& access,
                        const Traits& traits) {
  Record record;
  record.warp = warp.number;
  record.epoch = warp.now;
  record.pc = pc;
  record.bytes = static_cast<std::uint8_t>(access.bytes / traits.elements);
  record.write = access.access == Access::write;
  return record;
}

}  // namespace bitgate::machine::hazard
