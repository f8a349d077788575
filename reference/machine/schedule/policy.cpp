#include "reference/machine/schedule/policy.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace bitgate::machine {

namespace {

constexpr std::uint64_t kMostShuffled = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostLiveBytes = std::uint64_t{4} << 30;

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
    : seeded_(options.schedule_seed != 0),
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

  eager_copies_ = random_.chance(0.5);
  warp_turn_ = 1U << random_.between(0, 9);
  block_turn_ = std::uint64_t{1} << random_.between(6, 15);
  initial_blocks_ = static_cast<std::uint32_t>(random_.between(
      1, std::min<std::int64_t>(
             {8, residency_, static_cast<std::int64_t>(std::min<std::uint64_t>(blocks, 8))})));
  const std::uint64_t order = random_.below(4);
  descending_ = order == 0;
  if (order >= 2 && blocks <= kMostShuffled) {
    shuffled_.resize(blocks);
    for (std::uint32_t i = 0; i < shuffled_.size(); ++i) shuffled_[i] = i;
    for (std::size_t i = shuffled_.size(); i > 1; --i) {
      std::swap(shuffled_[i - 1], shuffled_[random_.below(i)]);
    }
  }
}

std::uint64_t Policy::block(std::uint64_t i) const {
  if (!shuffled_.empty()) return shuffled_[i];
  return descending_ ? blocks_ - 1 - i : i;
}

std::uint32_t Policy::warp_turn() {
  if (!seeded_) return warp_turn_;
  return static_cast<std::uint32_t>(random_.between(1, 2 * std::int64_t{warp_turn_}));
}

std::size_t Policy::next(std::size_t current, std::size_t count) {
  if (!seeded_) return (current + 1) % count;
  return random_.below(count);
}

}  // namespace bitgate::machine
