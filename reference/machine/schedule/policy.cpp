#include "reference/machine/schedule/policy.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace bitgate::machine {

namespace {

constexpr std::uint64_t kMostShuffled = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostLiveBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kSomeBlocks = 8;
constexpr std::uint64_t kTurnsOfTheStarved = 64;
constexpr std::uint64_t kPriorities = std::uint64_t{1} << 32;

bool can_go_on(const Warp& warp) {
  return std::any_of(warp.splits.begin(), warp.splits.end(),
                     [](const Split& split) { return split.state == Split::State::running; });
}

}  // namespace

std::uint32_t blocks_per_multiprocessor(std::uint32_t threads, std::uint32_t shared_bytes) {
  constexpr std::uint32_t kThreads = 2048;
  constexpr std::uint32_t kBlocks = 32;
  constexpr std::uint32_t kSharedBytes = 228 * 1024;
  constexpr std::uint32_t kReserved = 1024;  // of each block
  const std::uint32_t rounded = (threads + 31) / 32 * 32;
  const std::uint32_t by_threads = kThreads / std::max(rounded, 32U);
  const std::uint32_t by_shared = kSharedBytes / (shared_bytes + kReserved);
  return std::max(1U, std::min({kBlocks, by_threads, by_shared}));
}

std::uint64_t block_bytes(const Code& code, const Launch& launch) {
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  const std::uint64_t warps = (threads + 31) / 32;
  return warps *
             (std::uint64_t{code.register_bytes} + 32 * std::uint64_t{code.local_stride()} + 1024) +
         code.dynamic_shared_offset + launch.dynamic_shared_bytes;
}

Policy::Policy(const Code& code, const Launch& launch, const Options& options, std::uint64_t blocks)
    : schedule_(Schedule::of(options.schedule_seed)),
      seeded_(options.schedule_seed != 0),
      random_(options.schedule_seed, "schedule"),
      blocks_(blocks),
      // Blocks that cannot wait for each other run one after the other, which keeps their
      // registers in the cache.
      block_turn_(code.communicates ? std::uint64_t{1} << 15 : std::uint64_t{1} << 26),
      warp_turn_(code.communicates ? 1U << 10 : 1U << 15) {
  const std::uint32_t threads = launch.block.x * launch.block.y * launch.block.z;
  const std::uint64_t fit =
      std::uint64_t{std::max(options.multiprocessors, 1U)} *
      blocks_per_multiprocessor(threads, code.dynamic_shared_offset + launch.dynamic_shared_bytes);
  const std::uint64_t affordable =
      std::max<std::uint64_t>(kMostLiveBytes / block_bytes(code, launch), 1);
  residency_ = static_cast<std::uint32_t>(
      std::min({fit, affordable, std::uint64_t{std::numeric_limits<std::uint32_t>::max()}}));
  if (options.resident_blocks != 0) residency_ = options.resident_blocks;
  if (!seeded_) return;

  const std::uint64_t most = std::min<std::uint64_t>(blocks, residency_);
  const auto few = static_cast<std::int64_t>(std::min<std::uint64_t>(most, kSomeBlocks));
  switch (schedule_.residency) {
    case Schedule::Residency::one:
      break;
    case Schedule::Residency::some:
      initial_blocks_ =
          static_cast<std::uint32_t>(random_.between(std::min<std::int64_t>(2, few), few));
      break;
    case Schedule::Residency::all:
      initial_blocks_ = static_cast<std::uint32_t>(most);
      break;
  }
  // Turns: strict priorities are for runs with few changes of warp, all else for many.
  warp_turn_ = schedule_.warps == Schedule::Warps::priority ? 1U << random_.between(11, 14)
                                                            : 1U << random_.between(0, 9);
  block_turn_ = std::uint64_t{1} << random_.between(6, 15);
  if (schedule_.blocks == Schedule::Blocks::random && blocks <= kMostShuffled) {
    shuffled_.resize(blocks);
    for (std::uint32_t i = 0; i < shuffled_.size(); ++i) shuffled_[i] = i;
    for (std::size_t i = shuffled_.size(); i > 1; --i) {
      std::swap(shuffled_[i - 1], shuffled_[random_.below(i)]);
    }
  }
}

std::uint64_t Policy::block(std::uint64_t i) const {
  if (!shuffled_.empty()) return shuffled_[i];
  return schedule_.blocks == Schedule::Blocks::descending ? blocks_ - 1 - i : i;
}

std::size_t Policy::next_block(std::size_t current, std::size_t count) {
  if (!seeded_ || schedule_.warps == Schedule::Warps::round_robin) return (current + 1) % count;
  return random_.below(count);
}

void Policy::start_block(Block& block) {
  const std::size_t warps = block.warps.size();
  WarpOrder& order = block.order;
  order.current = warps - 1;
  order.lowest = 0;
  order.priority.clear();
  switch (schedule_.warps) {
    case Schedule::Warps::round_robin:
    case Schedule::Warps::random:
      break;
    case Schedule::Warps::starve_one:
      order.starved = random_.below(warps);
      break;
    case Schedule::Warps::priority:
    case Schedule::Warps::fair_priority:
      for (std::size_t i = 0; i < warps; ++i) {
        order.priority.push_back(static_cast<std::int64_t>(random_.below(kPriorities)));
      }
      break;
  }
}

std::optional<std::size_t> Policy::next_warp(Block& block) {
  WarpOrder& order = block.order;
  const std::size_t count = block.warps.size();
  const auto first_from = [&](std::size_t start,
                              std::size_t without) -> std::optional<std::size_t> {
    std::size_t warp = start;
    for (std::size_t i = 0; i < count; ++i) {
      if (warp != without && can_go_on(block.warps[warp])) return warp;
      if (++warp == count) warp = 0;
    }
    return std::nullopt;
  };
  std::optional<std::size_t> chosen;
  switch (schedule_.warps) {
    case Schedule::Warps::round_robin:
      chosen = first_from((order.current + 1) % count, count);
      break;
    case Schedule::Warps::random:
      chosen = first_from(random_.below(count), count);
      break;
    case Schedule::Warps::starve_one:
      if (random_.below(kTurnsOfTheStarved) != 0) {
        chosen = first_from(random_.below(count), order.starved);
      }
      if (!chosen) chosen = first_from(order.starved, count);
      break;
    case Schedule::Warps::priority:
    case Schedule::Warps::fair_priority:
      for (std::size_t warp = 0; warp < count; ++warp) {
        if (can_go_on(block.warps[warp]) &&
            (!chosen || order.priority[warp] > order.priority[*chosen])) {
          chosen = warp;
        }
      }
      break;
  }
  if (chosen) order.current = *chosen;
  return chosen;
}

std::uint32_t Policy::warp_turn() {
  if (!seeded_) return warp_turn_;
  return static_cast<std::uint32_t>(random_.between(1, 2 * std::int64_t{warp_turn_}));
}

void Policy::used_up(Block& block, std::size_t warp) {
  WarpOrder& order = block.order;
  if (!order.priority.empty()) order.priority[warp] = --order.lowest;
}

}  // namespace bitgate::machine
