#include "reference/machine/schedule/schedule.h"

#include <fmt/format.h>

#include <string_view>

namespace bitgate::machine {

namespace {

std::string_view text(Schedule::Blocks blocks) {
  switch (blocks) {
    case Schedule::Blocks::ascending:
      return "ascending";
    case Schedule::Blocks::descending:
      return "descending";
    case Schedule::Blocks::random:
      break;
  }
  return "shuffled";
}

std::string_view text(Schedule::Residency residency) {
  switch (residency) {
    case Schedule::Residency::one:
      return "one";
    case Schedule::Residency::some:
      return "some";
    case Schedule::Residency::all:
      break;
  }
  return "all";
}

std::string_view text(Schedule::Warps warps) {
  switch (warps) {
    case Schedule::Warps::round_robin:
      return "warps in turn";
    case Schedule::Warps::random:
      return "random warps";
    case Schedule::Warps::starve_one:
      return "one warp starved";
    case Schedule::Warps::priority:
      return "warps by priority";
    case Schedule::Warps::fair_priority:
      break;
  }
  return "warps by fair priority";
}

}  // namespace

Schedule Schedule::of(std::uint64_t seed) {
  Schedule schedule;
  if (seed == 0) return schedule;
  // 9, 5 and 2 have no common factor: 90 seeds in a row have all combinations.
  schedule.blocks = static_cast<Blocks>(seed % 3);
  schedule.residency = static_cast<Residency>(seed / 3 % 3);
  schedule.warps = static_cast<Warps>(seed % 5);
  schedule.early_copies = seed % 2 == 1;
  return schedule;
}

std::string describe(const Schedule& schedule) {
  return fmt::format("{} blocks, {} resident, {}, {} copies", text(schedule.blocks),
                     text(schedule.residency), text(schedule.warps),
                     schedule.early_copies ? "early" : "late");
}

}  // namespace bitgate::machine
