#include "reference/machine/hazard/validity.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "reference/machine/hazard/site_of.h"

namespace bitgate::machine::hazard {

namespace {

AccessKind access_of(Sink sink) {
  switch (sink) {
    case Sink::load_address:
      return AccessKind::read;
    case Sink::store_address:
    case Sink::output:
      return AccessKind::write;
    case Sink::atomic_address:
      return AccessKind::atomic;
    default:
      return AccessKind::none;
  }
}

const char* matters_as(Sink sink) {
  switch (sink) {
    case Sink::branch:
      return "decides a branch";
    case Sink::guard:
      return "decides whether an instruction is carried out";
    case Sink::load_address:
    case Sink::store_address:
    case Sink::atomic_address:
      return "is an address";
    case Sink::barrier_operand:
      return "is an operand of a barrier";
    case Sink::mask_operand:
      return "is a member mask";
    case Sink::shuffle_lane:
      return "says which lane a shuffle reads";
    case Sink::copy_size:
      return "says how much a copy reads";
    case Sink::indirect_target:
      return "is where control goes";
    case Sink::output:
    case Sink::atomic:
    case Sink::stored_value:
    case Sink::none:
      break;
  }
  return "is in an output buffer";
}

std::string place_of(const Report& report) {
  if (report.space == "register") return "a register that was never written";
  if (!report.buffer.empty()) {
    return fmt::format("byte {} of '{}', which nobody wrote,", report.offset, report.buffer);
  }
  return fmt::format("byte {} of {} memory, which nobody wrote,", report.offset, report.space);
}

}  // namespace

Site site_of(const LaunchState& state, const Origin& origin) {
  return site_of(state, origin.block, origin.warp, origin.pc, origin.lane);
}

Validity::Validity(const LaunchState& state, const FlowTable& table, ReportList& reports)
    : state_(state), reports_(reports), labels_(state, table, Label::undefined, *this) {}

Report Validity::report(const Reached& where) const {
  const Origin& origin = labels_.origin(where.origin);
  Report report;
  report.kind = Kind::uninitialised;
  report.space = origin.in_register ? "register" : name(origin.space);
  if (origin.allocation != nullptr) report.buffer = origin.allocation->name;
  report.offset = origin.offset;
  report.bytes = origin.in_register ? 0 : origin.bytes;
  report.first = {AccessKind::read, site_of(state_, origin)};
  const auto lane =
      static_cast<std::uint32_t>(where.lanes == 0 ? 0 : std::countr_zero(where.lanes));
  report.second = Place{access_of(where.sink), site_of(state_, where.warp->block->number,
                                                       where.warp->index, where.pc, lane)};
  report.message = fmt::format("{} {}", place_of(report), matters_as(where.sink));
  return report;
}

void Validity::reached(const Reached& where) { reports_.add(report(where)); }

void Validity::stored(const Reached& where, const std::byte* host, std::uint32_t bytes) {
  auto& stores = state_.memory->undefined_stores;
  if (stores == nullptr) stores = std::make_shared<UndefinedStores>();
  const auto [entry, inserted] =
      notes_.try_emplace({labels_.origin(where.origin).pc, where.pc},
                         static_cast<std::uint32_t>(stores->notes.size()));
  if (inserted) stores->notes.push_back(report(where));
  for (std::uint32_t i = 0; i < bytes; i += 4) {
    stores->note_of[reinterpret_cast<std::uint64_t>(host + i) / 4] = entry->second;
  }
}

std::vector<Report> undefined_outputs(const GlobalMemory& memory) {
  constexpr std::uint32_t kNobody = 0xffffffffU;
  std::vector<Report> result;
  for (const GlobalMemory::Allocation* allocation : memory.allocations()) {
    if (!allocation->output || allocation->undefined == nullptr) continue;
    std::map<std::uint32_t, std::size_t> reports;  // by note
    std::array<std::byte, 8> defined;
    defined.fill(allocation->undefined_at_first);
    const auto undefined = [&](std::uint64_t at) {
      return allocation->undefined[at] != allocation->undefined_at_first;
    };
    const auto note_at = [&](std::uint64_t at) {
      if (memory.undefined_stores == nullptr) return kNobody;
      const auto& notes = memory.undefined_stores->note_of;
      const auto found = notes.find(reinterpret_cast<std::uint64_t>(allocation->host + at) / 4);
      return found == notes.end() ? kNobody : found->second;
    };
    for (std::uint64_t begin = 0; begin < allocation->bytes;) {
      if (begin % 8 == 0 && allocation->bytes - begin >= 8 &&
          std::memcmp(allocation->undefined + begin, defined.data(), 8) == 0) {
        begin += 8;
        continue;
      }
      if (!undefined(begin)) {
        ++begin;
        continue;
      }
      const std::uint32_t note = note_at(begin);
      std::uint64_t end = begin + 1;
      while (end < allocation->bytes && undefined(end) && note_at(end) == note) ++end;
      const auto [entry, inserted] = reports.try_emplace(note, result.size());
      if (!inserted) {
        ++result[entry->second].count;
      } else {
        Report report;
        if (note != kNobody) report = memory.undefined_stores->notes[note];
        report.kind = Kind::uninitialised;
        report.space = name(Space::global);
        report.buffer = allocation->name;
        report.offset = static_cast<std::int64_t>(begin);
        report.bytes =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(end - begin, 0xffffffffU));
        if (note == kNobody) {
          report.message = fmt::format("bytes {} to {} of the output '{}' were never written",
                                       begin, end - 1, allocation->name);
        } else {
          report.message +=
              fmt::format(": bytes {} to {} of '{}'", begin, end - 1, allocation->name);
        }
        result.push_back(std::move(report));
      }
      begin = end;
    }
  }
  return result;
}

}  // namespace bitgate::machine::hazard
