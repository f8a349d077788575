#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/races.h"
#include "reference/machine/hazard/races_internal.h"
#include "reference/machine/hazard/site_of.h"

// What is said of a race, and whether its two writes wrote the same.

namespace bitgate::machine::hazard {

namespace {

AccessKind kind_of(const Record& record) {
  if (record.async) return record.write ? AccessKind::async_write : AccessKind::async_read;
  if (record.atomic) return AccessKind::atomic;
  return record.write ? AccessKind::write : AccessKind::read;
}

}  // namespace

Place Races::place(const Record& record, std::uint32_t lanes) const {
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
  return {kind_of(record), site_of(state_, block_numbers_[record.warp / warps_per_block_],
                                   record.warp % warps_per_block_, record.pc, lane)};
}

void Races::locate(Report& report, const std::byte* at, std::uint32_t bytes,
                   const Actor& actor) const {
  report.bytes = bytes;
  report.space = actor.region == nullptr ? "shared" : "global";
  if (actor.region != nullptr) report.buffer = actor.region->name;
  report.offset = at - actor.begin;
}

void Races::report(const Found& found, std::byte* at, std::uint32_t bytes, std::uint32_t lanes,
                   Actor& actor, bool write) {
  const Record& other = records_[found.record];
  if (actor.last_end == at && actor.last_lanes == lanes &&
      records_[actor.last_other].bare() == other.bare()) {
    Report& last = reports_.at(actor.last_report);
    if (last.count == 1) last.bytes += bytes;
    actor.last_end = at + bytes;
  } else {
    const RaceKey key = std::minmax(std::pair(other.pc, kind_of(other)),
                                    std::pair(actor.what.pc, kind_of(actor.what)));
    const auto [known, added] = race_reports_.try_emplace(key, 0);
    if (added) {
      Report race;
      race.kind = Kind::race;
      locate(race, at, bytes, actor);
      const std::uint32_t others = found.lanes & ~lanes;
      race.first = place(other, others != 0 ? others : found.lanes);
      race.second = place(actor.what, lanes);
      // Whatever ran first: the writer, and of two the one that the text has first.
      if (std::pair(!actor.what.write, actor.what.pc) < std::pair(!other.write, other.pc)) {
        std::swap(race.first, *race.second);
      }
      race.same_value = other.write && write && !other.strong && !actor.what.strong;
      race.message = fmt::format("{} and {} of the same {} bytes with nothing that orders them",
                                 name(race.first.access), name(race.second->access), bytes);
      known->second = reports_.add(std::move(race));
    } else {
      ++reports_.at(known->second).count;
    }
    actor.last_report = known->second;
    actor.last_other = found.record;
    actor.last_lanes = lanes;
    actor.last_end = at + bytes;
  }
  Report& race = reports_.at(actor.last_report);
  if (!race.same_value) return;
  if (!other.write || !write || other.async || actor.what.async || other.strong ||
      actor.what.strong) {
    race.same_value = false;
    return;
  }
  Unsettled pair;
  pair.report = actor.last_report;
  pair.at = at;
  pair.bytes = bytes;
  std::memcpy(pair.old.data(), at, bytes);
  pair.first_lane = static_cast<std::uint32_t>(std::countr_zero(found.lanes));
  pair.second_lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
  if (found.record == actor.record && actor.access != nullptr && !actor.access->collective &&
      (actor.access->lanes >> pair.first_lane & 1U) != 0) {
    const std::byte* first = actor.access->at(pair.first_lane);
    pair.one_instruction = at >= first && at < first + actor.access->bytes;
  }
  unsettled_.push_back(pair);
}

void Races::report_non_coherent(std::uint32_t writer, std::uint32_t lanes, std::byte* at,
                                std::uint32_t bytes, Actor& actor) {
  Report report;
  report.kind = Kind::read_only_write;
  locate(report, at, bytes, actor);
  report.first = place(records_[writer], lanes);
  report.message =
      "a write of data that the same launch reads by ld.global.nc, which is for "
      "memory that nobody writes";
  reports_.add(std::move(report));
}

void Races::settle(Context& x, const Op& op) {
  std::vector<Unsettled> pairs;
  pairs.swap(unsettled_);
  bool again = false;
  const std::uint32_t active = x.active;
  hazard::Hazards* const hazards = x.state->hazards;
  for (const Unsettled& pair : pairs) {
    Report& race = reports_.at(pair.report);
    if (!race.same_value) continue;
    if (!pair.one_instruction) {
      race.same_value = std::memcmp(pair.at, pair.old.data(), pair.bytes) == 0;
      continue;
    }
    // What one lane alone would have written.
    const auto written = [&](std::uint32_t lane) {
      std::array<std::byte, 16> bytes{};
      x.activate(kLaneBit[lane]);
      op.masked(x, op);
      std::memcpy(bytes.data(), pair.at, pair.bytes);
      return bytes;
    };
    x.state->hazards = nullptr;
    race.same_value = written(pair.first_lane) == written(pair.second_lane);
    x.state->hazards = hazards;
    again = true;
  }
  if (!again) return;
  x.state->hazards = nullptr;
  x.activate(active);
  (active == kAllLanes ? op.full : op.masked)(x, op);
  x.state->hazards = hazards;
}

}  // namespace bitgate::machine::hazard
