#include "reference/machine/hazard/knowledge.h"

#include <algorithm>

namespace bitgate::machine::hazard {

namespace {

/// Blocks whose own releases are remembered at a place besides what is for all. It matters where
/// threads of one block acquire at block scope what others of it released, with other blocks'
/// operations in between.
constexpr std::size_t kMostBlocks = 4;

}  // namespace

void Offer::add(std::uint64_t block, Scope scope, const ClockPtr& clock) {
  if (clock == nullptr) return;
  if (scope == Scope::gpu) all = join(all, clock);
  const auto found = std::find_if(blocks.begin(), blocks.end(),
                                  [&](const auto& entry) { return entry.first == block; });
  if (found != blocks.end()) {
    found->second = join(found->second, clock);
    return;
  }
  if (blocks.size() == kMostBlocks) blocks.erase(blocks.begin());
  blocks.emplace_back(block, clock);
}

void Offer::add(const Offer& other) {
  all = join(all, other.all);
  for (const auto& [block, clock] : other.blocks) add(block, Scope::cta, clock);
}

bool Offer::covers(const Offer& other) const {
  if (!hazard::covers(all, other.all)) return false;
  return std::all_of(other.blocks.begin(), other.blocks.end(), [&](const auto& entry) {
    return std::any_of(blocks.begin(), blocks.end(), [&](const auto& mine) {
      return mine.first == entry.first && hazard::covers(mine.second, entry.second);
    });
  });
}

ClockPtr Offer::take(std::uint64_t block, Scope scope) const {
  ClockPtr result = scope == Scope::gpu ? all : nullptr;
  for (const auto& [of, clock] : blocks) {
    if (of == block) result = join(result, clock);
  }
  return result;
}

Group& WarpClock::part(Group& group, std::uint32_t lanes_of_group) {
  if (group.lanes == lanes_of_group) return group;
  // Never more groups than lanes: the vector has room for them.
  Group apart = group;
  group.lanes &= ~lanes_of_group;
  apart.lanes = lanes_of_group;
  return groups.emplace_back(std::move(apart));
}

void WarpClock::unite() {
  const auto same = [](const Group& a, const Group& b) {
    return a.seen == b.seen && a.async == b.async && covers(a.extra, b.extra) &&
           covers(b.extra, a.extra) && a.observed == b.observed && a.released[0] == b.released[0] &&
           a.released[1] == b.released[1] && a.fences[0] == b.fences[0] &&
           a.fences[1] == b.fences[1];
  };
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = i + 1; j < groups.size();) {
      if (same(groups[i], groups[j])) {
        groups[i].lanes |= groups[j].lanes;
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(j));
      } else {
        ++j;
      }
    }
  }
}

std::uint32_t WarpClock::copies_done(std::uint32_t lane, std::uint32_t pending) const {
  for (auto commit = commits.rbegin(); commit != commits.rend(); ++commit) {
    if ((commit->second >> lane & 1U) == 0) continue;
    if (pending == 0) return commit->first;
    --pending;
  }
  return 0;
}

}  // namespace bitgate::machine::hazard
