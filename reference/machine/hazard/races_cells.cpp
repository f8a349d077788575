#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/races.h"
#include "reference/machine/hazard/races_internal.h"

// Who touched a cell: the words of weak accesses are compared with what nearly all of them show, by
// vectors, and those that differ are looked at one by one.

namespace bitgate::machine::hazard {

namespace {

using Four = std::uint32_t __attribute__((vector_size(16)));
using Eight = std::uint32_t __attribute__((vector_size(32)));

template <class Vector>
Vector load(const std::uint32_t* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

template <class Vector>
void store(std::uint32_t* to, const Vector& v) {
  std::memcpy(to, &v, sizeof(v));
}

/// A bit for each word, of a vector whose words are all ones or zero.
template <class Vector>
std::uint32_t bits_of(const Vector& v) {
  if constexpr (sizeof(Vector) == sizeof(__m256)) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(std::bit_cast<__m256>(v)));
  } else {
    return static_cast<std::uint32_t>(_mm_movemask_ps(std::bit_cast<__m128>(v)));
  }
}

/// Ones in the words that `bits` has.
template <class Vector>
Vector words_of(std::uint32_t bits) {
  constexpr Eight kBits{1, 2, 4, 8, 16, 32, 64, 128};
  Vector bit;
  std::memcpy(&bit, &kBits, sizeof(bit));
  return reinterpret_cast<Vector>(((Vector{} + bits) & bit) != 0U);
}

}  // namespace

std::uint32_t Races::lanes_of(Ref ref, std::uint32_t mask, std::uint64_t offset) const {
  if (is_list(ref)) {
    const Node& head = nodes_[ref & ~kListBit];
    return records_[head.record].lanes_at(offset, head.lanes);
  }
  return records_[ref].lanes_at(offset, mask);
}

std::uint16_t Races::grain(Ref ref) const {
  return is_list(ref) ? nodes_[ref & ~kListBit].grain : records_[ref].grain();
}

/// Whether the lanes beside a reference say nothing.
bool Races::needs_no_lanes(Ref ref) const {
  return ref == kNobody || is_list(ref) || records_[ref].who != Who::cell;
}

Races::Ordered Races::all_before(Ref ref, std::uint32_t lanes, const Actor& actor,
                                 const std::byte* at, bool against_write, Found& found) {
  if (ref == kNobody || is_stale(ref, actor)) return Ordered::everywhere;
  Ordered result = Ordered::everywhere;
  const std::uint64_t offset = actor.offset(at);
  const auto look = [&](std::uint32_t number, std::uint32_t mask, const Node* node) {
    const Record& record = records_[number];
    const std::uint32_t of = record.lanes_at(offset, mask);
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

/// Whether the same comes of it at every place that shows the same readers.
bool Races::add_reader(Cell& cell, std::byte* at, std::uint32_t lanes, Actor& actor) {
  Found found;
  const Ref head = cell.read;
  const bool list = is_list(head);
  const std::uint32_t latest = list ? nodes_[head & ~kListBit].record : head;
  const std::uint32_t mask = list ? nodes_[head & ~kListBit].lanes : cell.read_lanes;
  const Record old = records_[latest];
  const std::uint32_t beside = actor.beside(lanes);
  const auto replace_latest = [&](std::uint32_t number, std::uint32_t of) {
    if (list) {
      cell.read = push(nodes_[head & ~kListBit].next, number, of, 0);
    } else {
      cell.read = number;
      cell.read_lanes = of;
    }
  };
  if (latest == actor.record) {
    if ((beside & ~mask) != 0) replace_latest(latest, mask | beside);
    return true;
  }
  if (old.bare() == actor.what.bare()) {
    // The same instruction once more, its lanes at other places: a mask holds them all.
    const std::uint32_t number = record(*actor.warp, old.bare());
    replace_latest(number, old.lanes_at(actor.offset(at), mask) | lanes);
    return false;
  }
  if ((!actor.what.strong || old.strong) && (actor.what.non_coherent || !old.non_coherent)) {
    // A strong reader exempts itself from much; whom it replaces must come before it all the same.
    const bool strong = actor.what.strong;
    actor.what.strong = false;
    const Ordered order = all_before(head, cell.read_lanes, actor, at, false, found);
    actor.what.strong = strong;
    if (order != Ordered::no) {
      if (order == Ordered::everywhere && !strong && found.non_coherent == 0) {
        actor.set_ok_read(head);
      }
      cell.read = actor.record;
      cell.read_lanes = beside;
      return false;
    }
    if (list && before(old, old.lanes_at(actor.offset(at), mask), actor) != Ordered::no) {
      replace_latest(actor.record, beside);
      return false;
    }
  }
  const Ref tail = list ? head : push(kNobody, head, old.who == Who::cell ? mask : 0, 0);
  cell.read = push(tail, actor.record, beside, 0);
  return true;
}

template <bool Write>
void Races::check(const Cell& cell, std::byte* at, std::uint32_t bytes, std::uint32_t lanes,
                  Actor& actor) {
  actor.lanes = lanes;
  if (cell.write != kNobody && cell.write != actor.ok_write) {
    Found found;
    const Ordered order = all_before(cell.write, cell.write_lanes, actor, at, true, found);
    if (order == Ordered::no) {
      report(found, at, bytes, lanes, actor, Write);
    } else if (!Write && actor.what.non_coherent) {
      const Ref ref = cell.write;
      report_non_coherent(is_list(ref) ? nodes_[ref & ~kListBit].record : ref,
                          lanes_of(ref, cell.write_lanes, actor.offset(at)), at, bytes, actor);
    } else if (order == Ordered::everywhere && !(Write && is_list(cell.write))) {
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
        actor.set_ok_read(cell.read);
      }
    }
    if (is_list(cell.write)) (actor.region == nullptr ? actor.block->places : places_).erase(at);
  }
}

/// The usual case: a record that all lanes of the actor's group come after.
inline bool Races::is_settled(Ref ref, Ref& ok, const Actor& actor) const {
  if (ref == kNobody || ref == ok) return true;
  if (is_list(ref)) return actor.ok_lists[ref % actor.ok_lists.size()] == ref;
  if (!is_stale(ref, actor)) {
    const Record& record = records_[ref];
    const std::uint32_t index = record.warp - actor.block->first_warp;
    if (record.non_coherent || index >= warps_per_block_ ||
        actor.group->seen[index + (record.async ? warps_per_block_ : 0)] < record.epoch) {
      return false;
    }
  }
  ok = ref;
  return true;
}

inline bool Races::write_is_settled(Ref write, Actor& actor) const {
  if (actor.what.non_coherent) return write == kNobody;
  return is_settled(write, actor.ok_write, actor);
}

/// Whether all that is left to do at a word is to remember the access.
template <bool Write>
inline bool Races::settles(Ref write, Ref read, Actor& actor) const {
  if (write == kSplit || !((!Write && actor.checked) || write_is_settled(write, actor))) {
    return false;
  }
  return (!Write && read == actor.record) || is_settled(read, actor.ok_read, actor);
}

template <bool Write>
inline void Races::touch_cell(Cell& cell, std::byte* at, std::uint32_t bytes, std::uint32_t lanes,
                              Actor& actor) {
  const std::uint32_t beside = actor.beside(lanes);
  if constexpr (Write) {
    if (!write_is_settled(cell.write, actor) || !is_settled(cell.read, actor.ok_read, actor)) {
      check<true>(cell, at, bytes, lanes, actor);
    }
    cell = {actor.record, beside, kNobody, 0};
  } else {
    if (!actor.checked && !write_is_settled(cell.write, actor)) {
      check<false>(cell, at, bytes, lanes, actor);
    }
    if (cell.read == actor.record) {
      cell.read_lanes |= beside;
    } else if (is_settled(cell.read, actor.ok_read, actor)) {
      cell.read = actor.record;
      cell.read_lanes = beside;
    } else if (cell.read == actor.read_before && beside == actor.reading_lanes &&
               (!actor.before_needs_lanes || cell.read_lanes == actor.read_before_lanes)) {
      cell.read = actor.read_after;
    } else {
      const Cell before = cell;
      actor.lanes = lanes;
      if (add_reader(cell, at, lanes, actor) && is_list(cell.read)) {
        actor.read_before = before.read;
        actor.before_needs_lanes = !needs_no_lanes(before.read);
        actor.read_before_lanes = before.read_lanes;
        actor.reading_lanes = beside;
        actor.read_after = cell.read;
      }
    }
  }
}

/// The number of the cells of a word's bytes.
std::uint32_t Races::split(const Cells& cells, std::uint64_t index) {
  const Cell cell = cells.load(index);
  if (cell.write == kSplit) return cell.write_lanes;
  std::uint32_t number = 0;
  if (free_byte_cells_.empty()) {
    number = static_cast<std::uint32_t>(byte_cells_.size());
    byte_cells_.emplace_back();
  } else {
    number = free_byte_cells_.back();
    free_byte_cells_.pop_back();
  }
  for (Cell& byte : byte_cells_[number].byte) byte = cell;
  cells.store(index, {kSplit, number, kNobody, 0});
  return number;
}

/// Whether the lanes in doubt are not the same for all bytes of a word.
bool Races::needs_bytes(const Cell& cell, const Actor& actor) const {
  return narrow_runs_ && (actor.what.grain() < 2 || grain(cell.write) < 2 || grain(cell.read) < 2);
}

template <bool Write>
void Races::touch_word(std::uint64_t index, std::byte* at, std::uint32_t lanes, Actor& actor) {
  const Cells& cells = *actor.cells;
  if (settles<Write>(cells.write()[index], cells.read()[index], actor)) [[likely]] {
    std::uint32_t beside = actor.beside(lanes);
    if constexpr (Write) {
      cells.store(index, {actor.record, beside, kNobody, 0});
    } else {
      if (cells.read()[index] == actor.record) beside |= cells.read_lanes()[index];
      cells.read()[index] = actor.record;
      cells.read_lanes()[index] = beside;
    }
    return;
  }
  Cell cell = cells.load(index);
  if (cell.write != kSplit && !needs_bytes(cell, actor)) {
    touch_cell<Write>(cell, at, 4, actor.what.lanes_at(4 * index, lanes), actor);
    cells.store(index, cell);
    return;
  }
  const std::uint32_t number = split(cells, index);
  for (std::uint32_t b = 0; b < 4; ++b) {
    touch_cell<Write>(byte_cells_[number].byte[b], at + b, 1,
                      actor.what.lanes_at(4 * index + b, lanes), actor);
  }
  if constexpr (Write) {
    cells.store(index, byte_cells_[number].byte[0]);
    free_byte_cells_.push_back(number);
  }
}

/// Whether four words show the same.
bool Races::are_alike(const Cells& cells, std::uint64_t index) const {
  const auto equal = [&](const std::uint32_t* words) {
    const auto v = load<Four>(words + index);
    return bits_of(v == v[0]) == 15;
  };
  return equal(cells.write()) && equal(cells.read()) && grain(cells.write()[index]) >= 4 &&
         grain(cells.read()[index]) >= 4 &&
         (equal(cells.write_lanes()) || needs_no_lanes(cells.write()[index])) &&
         (equal(cells.read_lanes()) || needs_no_lanes(cells.read()[index]));
}

/// Words of one lane, one or four, in some of which something is in doubt.
template <bool Write>
void Races::touch_unit(std::uint64_t index, std::uint32_t words, std::byte* at, std::uint32_t lanes,
                       Actor& actor) {
  const Cells& cells = *actor.cells;
  if (words == 4 && cells.write()[index] != kSplit && are_alike(cells, index)) {
    Cell cell = cells.load(index);
    if (!needs_bytes(cell, actor)) {
      touch_cell<Write>(cell, at, 16, actor.what.lanes_at(4 * index, lanes), actor);
      for (std::uint64_t i = 0; i < 4; ++i) cells.store(index + i, cell);
      return;
    }
  }
  for (std::uint32_t i = 0; i < words; ++i) {
    touch_word<Write>(index + i, at + std::size_t{4} * i, lanes, actor);
  }
}

template <class Vector, bool Write>
inline void Races::touch_vectors(std::uint64_t index, std::uint32_t words, std::byte* at,
                                 std::uint32_t lanes, Actor& actor) {
  constexpr std::uint32_t kStep = sizeof(Vector) / 4;
  constexpr std::uint32_t kAll = (1U << kStep) - 1;
  const bool masked = actor.what.who == Who::cell;
  // The words of 16 aligned bytes of a lane are looked at together.
  const std::uint32_t unit = kStep == 4 || (actor.what.lane_shift >= 4 && index % 4 == 0) ? 4U : 1U;
  const Vector record = Vector{} + actor.record;
  for (std::uint32_t i = 0; i < words; i += kStep) {
    Ref* const write = actor.cells->write() + index + i;
    Ref* const read = actor.cells->read() + index + i;
    std::uint32_t done = 0;
    std::uint32_t settled = 0;  // they are not what nearly all show, and yet nothing is in doubt
    for (;;) {
      const auto w = load<Vector>(write);
      const auto r = load<Vector>(read);
      const auto write_ok = (w == 0U) | (w == actor.ok_write);
      auto read_ok = (r == 0U) | (r == actor.ok_read);
      [[maybe_unused]] auto known = Vector{} != 0U;
      if constexpr (!Write) {
        if (!masked && !actor.before_needs_lanes && actor.read_before != kNobody) {
          known = r == actor.read_before;
        }
        read_ok |= (r == record) | known;
      }
      std::uint32_t left = ~bits_of(write_ok & read_ok) & kAll & ~(done | settled);
      while (left != 0 &&
             settles<Write>(write[std::countr_zero(left)], read[std::countr_zero(left)], actor)) {
        settled |= left & -left;
        left &= left - 1;
      }
      if (left != 0) [[unlikely]] {
        const std::uint32_t first =
            static_cast<std::uint32_t>(std::countr_zero(left)) & ~(unit - 1);
        touch_unit<Write>(index + i + first, unit, at + std::size_t{4} * (i + first), lanes, actor);
        done |= ((1U << unit) - 1) << first;
        continue;
      }
      if (done == kAll) break;
      if constexpr (Write) {
        store(write, record);
        store(read, Vector{});
        if (masked) store(actor.cells->write_lanes() + index + i, Vector{} + lanes);
      } else {
        const auto keep = words_of<Vector>(done);
        const auto all = reinterpret_cast<Vector>(known);
        store(read, (r & keep) | (((all & actor.read_after) | (~all & record)) & ~keep));
        if (masked) {
          std::uint32_t* const beside = actor.cells->read_lanes() + index + i;
          const auto old = load<Vector>(beside);
          const auto own = reinterpret_cast<Vector>(r == record) & old;
          store(beside, (old & keep) | ((own | lanes) & ~keep));
        }
      }
      break;
    }
  }
}

template <bool Write>
void Races::touch(std::byte* at, std::uint32_t bytes, std::uint32_t lanes, Actor& actor) {
  if (!actor.holds(at) && !find_cells(actor, at, !Write)) return;
  const std::uint64_t offset = actor.offset(at);
  if (((offset | bytes) & 15U) == 0) {
    return touch_vectors<Four, Write>(offset / 4, bytes / 4, at, lanes, actor);
  }
  if (((offset | bytes) & 3U) == 0) {
    for (std::uint32_t i = 0; i < bytes; i += 4) {
      touch_word<Write>((offset + i) / 4, at + i, lanes, actor);
    }
    return;
  }
  for (std::uint32_t i = 0; i < bytes; ++i) {
    const std::uint64_t place = offset + i;
    const std::uint32_t number = split(*actor.cells, place / 4);
    touch_cell<Write>(byte_cells_[number].byte[place % 4], at + i, 1, lanes, actor);
  }
}

/// All lanes' bytes of a run, whose cells are the actor's: whole words, a multiple of 8.
void Races::touch_run(Actor& actor, std::byte* run, std::uint32_t bytes_of_lane) {
  const std::uint64_t index = actor.offset(run) / 4;
  const std::uint32_t words = bytes_of_lane * kLanes / 4;
  if (actor.what.write) {
    touch_vectors<Eight, true>(index, words, run, 0, actor);
  } else {
    touch_vectors<Eight, false>(index, words, run, 0, actor);
  }
}

/// Whether the usual case, of a read, holds of all its words.
bool Races::writes_are_settled(std::byte* at, std::uint32_t bytes, Actor& actor) {
  if (!find_cells(actor, at, true)) return true;
  const std::uint64_t offset = actor.offset(at);
  for (std::uint64_t i = offset / 4; i <= (offset + bytes - 1) / 4; ++i) {
    const Ref write = actor.cells->write()[i];
    if (write == actor.ok_write || write == kNobody) continue;
    if (!write_is_settled(write, actor)) return false;
  }
  return true;
}

/// A read against the writes before it, of which it remembers nothing.
void Races::check_read(std::byte* at, std::uint32_t bytes, std::uint32_t lanes, Actor& actor) {
  if (!find_cells(actor, at, true)) return;
  const std::uint64_t offset = actor.offset(at);
  const Cells& cells = *actor.cells;
  const auto look = [&](const Cell& cell, std::uint32_t i, std::uint32_t width) {
    if (!write_is_settled(cell.write, actor)) check<false>(cell, at + i, width, lanes, actor);
  };
  for (std::uint32_t i = 0; i < bytes;) {
    const std::uint64_t index = (offset + i) / 4;
    const Cell cell = cells.load(index);
    const bool apart =
        cell.write == kSplit || ((offset | bytes) & 3U) != 0 || grain(cell.write) < 2;
    if (!apart) {
      const bool quad = ((offset | bytes) & 15U) == 0 && i % 16 == 0 && are_alike(cells, index);
      look(cell, i, quad ? 16 : 4);
      i += quad ? 16 : 4;
      continue;
    }
    const Cell byte =
        cell.write == kSplit ? byte_cells_[cell.write_lanes].byte[(offset + i) % 4] : cell;
    look(byte, i, 1);
    ++i;
  }
}

template void Races::touch<true>(std::byte*, std::uint32_t, std::uint32_t, Actor&);
template void Races::touch<false>(std::byte*, std::uint32_t, std::uint32_t, Actor&);

}  // namespace bitgate::machine::hazard
