#include "reference/machine/hazard/livelock.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "reference/machine/exec/lanes.h"

namespace bitgate::machine::hazard {

namespace {

/// Instructions without a change after which a launch is looked at.
constexpr std::uint64_t kPatience = std::uint64_t{1} << 16;
/// One in so many turns is looked at: a warp's state has many bytes.
constexpr std::uint64_t kTurnsBetweenLooks = 8;
constexpr std::size_t kMostDescribed = 6;

class Hash {
 public:
  void add(std::uint64_t value) { state_ = (std::rotl(state_, 23) ^ value) * 0x9e3779b97f4a7c15U; }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

/// All that decides what a warp does next, but for memory.
std::uint64_t state_of(const Warp& warp) {
  Hash hash;
  const std::byte* registers = warp.registers.data();
  for (std::size_t at = 0; at + 8 <= warp.registers.size(); at += 8) {
    std::uint64_t value = 0;
    std::memcpy(&value, registers + at, 8);
    hash.add(value);
  }
  for (const Split& split : warp.splits) {
    hash.add(std::uint64_t{split.pc} << 32 | split.mask);
    hash.add(static_cast<std::uint64_t>(split.state));
  }
  hash.add(warp.live);
  hash.add(warp.carry);
  hash.add(warp.clock);
  hash.add(warp.copies.size());
  for (const LaneStack& stack : warp.stacks) hash.add(stack.top);
  return hash.value();
}

bool waits(const Warp& warp) {
  return std::none_of(warp.splits.begin(), warp.splits.end(),
                      [](const Split& split) { return split.state == Split::State::running; });
}

}  // namespace

void LivelockWatch::start_block(const Block& block) {
  blocks_.emplace(block.number, &block);
  ++started_;
  changed();
}

void LivelockWatch::finish_block(const Block& block) {
  blocks_.erase({block.number, &block});
  changed();
}

void LivelockWatch::changed() {
  last_change_ = state_.warp_instructions;
  suspects_ = false;
  window_ = 64;
  seen_.clear();
  written_.clear();
}

void LivelockWatch::writes(const MemoryAccess& access) {
  each_lane(access.lanes, [&](std::size_t lane) {
    const std::byte* at = access.at(lane);
    written_.emplace_back(at, std::vector<std::byte>(at, at + access.bytes));
  });
}

void LivelockWatch::has_written() {
  const bool same = std::all_of(written_.begin(), written_.end(), [](const auto& old) {
    return std::memcmp(old.first, old.second.data(), old.second.size()) == 0;
  });
  written_.clear();
  if (!same) changed();
}

void LivelockWatch::turn_over(const Warp& warp) {
  if (state_.warp_instructions - last_change_ < kPatience) return;
  if (!suspects_) {
    suspects_ = true;
    turns_ = 0;
  }
  // Not every eighth, which may be always the same warp's.
  if ((++turns_ * 0x9e3779b97f4a7c15U >> 32) % kTurnsBetweenLooks != 0) return;
  if (turns_ > window_ * std::max<std::size_t>(blocks_.size(), 1)) {
    // A spin may begin after the states were taken, or take longer to come back.
    window_ *= 2;
    turns_ = 0;
    seen_.clear();
  }
  if (warp.live == 0) return;
  const std::uint64_t state = state_of(warp);
  const auto [seen, added] = seen_.try_emplace(&warp, Seen{state, false});
  if (added || seen->second.again || seen->second.state != state) return;
  seen->second.again = true;
  if (!everybody_waits()) return;
  throw_fault(Fault::Kind::deadlock, -1,
              "nothing changes any more, and every thread waits: " + describe());
}

bool LivelockWatch::everybody_waits() const {
  return std::all_of(blocks_.begin(), blocks_.end(), [&](const auto& entry) {
    const auto& warps = entry.second->warps;
    return std::all_of(warps.begin(), warps.end(), [&](const Warp& warp) {
      if (warp.live == 0 || waits(warp)) return true;
      const auto seen = seen_.find(&warp);
      return seen != seen_.end() && seen->second.again;
    });
  });
}

std::string LivelockWatch::describe() const {
  std::string text;
  std::size_t described = 0;
  for (const auto& [number, block] : blocks_) {
    for (const Warp& warp : block->warps) {
      for (const Split& split : warp.splits) {
        if (++described > kMostDescribed) continue;
        if (!text.empty()) text += "; ";
        const DebugLine& line = state_.code->debug[split.pc];
        text +=
            fmt::format("block {} warp {} lanes {:#010x} {} '{}' (PTX line {})", number, warp.index,
                        split.mask, split.state == Split::State::running ? "spin at" : "wait at",
                        line.instruction, line.ptx_line);
      }
    }
  }
  if (described > kMostDescribed) text += "; …";
  const Dim3& grid = state_.launch->grid;
  const std::uint64_t all = std::uint64_t{grid.x} * grid.y * grid.z;
  if (all > started_) {
    text +=
        fmt::format("; {} of {} blocks have not started, for want of room", all - started_, all);
  }
  return text;
}

}  // namespace bitgate::machine::hazard
