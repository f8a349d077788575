#include "reference/machine/schedule/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/test_machine.h"

// What each choice of a schedule does to the order of things, and that nobody is kept waiting.

namespace bitgate::machine {
namespace {

constexpr std::uint32_t kBlocks = 40;
constexpr std::uint32_t kWarps = 4;

Policy policy_of(std::uint64_t seed) {
  Launch launch;
  launch.grid = {kBlocks, 1, 1};
  launch.block = {kWarps * 32, 1, 1};
  Options options;
  options.schedule_seed = seed;
  return {Code{}, launch, options, kBlocks};
}

Block running_block() {
  Block block;
  block.warps.resize(kWarps);
  for (Warp& warp : block.warps) warp.splits.push_back({0, kAllLanes, Split::State::running, 0});
  return block;
}

/// The first seed whose schedule is as `wanted` says.
template <class Wanted>
std::uint64_t seed_where(const Wanted& wanted) {
  std::uint64_t seed = 1;
  while (!wanted(Schedule::of(seed))) ++seed;
  return seed;
}

TEST(SchedulePolicy, NinetySeedsInARowHaveEveryCombination) {
  for (const std::uint64_t first : {1ULL, 4711ULL}) {
    std::set<std::string> found;
    for (std::uint64_t i = 0; i < 90; ++i) found.insert(describe(Schedule::of(first + i)));
    EXPECT_EQ(found.size(), 90U);
  }
  EXPECT_EQ(describe(Schedule::of(0)),
            "ascending blocks, one resident, warps in turn, late copies");
}

TEST(SchedulePolicy, EveryBlockStartsOnceInTheOrderOfTheSchedule) {
  for (std::uint64_t seed = 0; seed < 90; ++seed) {
    const Policy policy = policy_of(seed);
    std::vector<std::uint64_t> order;
    for (std::uint64_t i = 0; i < kBlocks; ++i) order.push_back(policy.block(i));
    const bool ascending = std::ranges::is_sorted(order);
    const bool descending = std::ranges::is_sorted(order, std::greater<>());
    EXPECT_EQ(ascending, policy.schedule().blocks == Schedule::Blocks::ascending);
    EXPECT_EQ(descending, policy.schedule().blocks == Schedule::Blocks::descending);
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), kBlocks);
    switch (policy.schedule().residency) {
      case Schedule::Residency::one:
        EXPECT_EQ(policy.initial_blocks(), 1U);
        break;
      case Schedule::Residency::some:
        EXPECT_GT(policy.initial_blocks(), 1U);
        EXPECT_LT(policy.initial_blocks(), kBlocks);
        break;
      case Schedule::Residency::all:
        EXPECT_EQ(policy.initial_blocks(), kBlocks);
        break;
    }
  }
}

TEST(SchedulePolicy, WarpsGoAsTheScheduleSays) {
  for (const auto warps :
       {Schedule::Warps::round_robin, Schedule::Warps::random, Schedule::Warps::starve_one,
        Schedule::Warps::priority, Schedule::Warps::fair_priority}) {
    Policy policy = policy_of(seed_where([&](const Schedule& s) { return s.warps == warps; }));
    Block block = running_block();
    policy.start_block(block);
    std::vector<std::size_t> turns;
    for (int i = 0; i < 4000; ++i) {
      turns.push_back(*policy.next_warp(block));
      policy.used_up(block, turns.back());
    }
    std::map<std::size_t, std::size_t> count;
    for (const std::size_t warp : turns) ++count[warp];
    EXPECT_EQ(count.size(), kWarps) << "every warp goes on";
    const bool in_turn = [&] {
      for (std::size_t i = 0; i < turns.size(); ++i) {
        if (turns[i] != i % kWarps) return false;
      }
      return true;
    }();
    EXPECT_EQ(in_turn, warps == Schedule::Warps::round_robin);
    const std::size_t least =
        std::ranges::min_element(count, {}, [](const auto& entry) { return entry.second; })->second;
    if (warps == Schedule::Warps::starve_one) {
      EXPECT_LT(least, 4000 / kWarps / 4);
    } else {
      EXPECT_GT(least, 4000 / kWarps / 2);
    }
  }
}

TEST(SchedulePolicy, PrioritiesAreStrictUntilATurnIsUsedUp) {
  const std::uint64_t strict =
      seed_where([](const Schedule& s) { return s.warps == Schedule::Warps::priority; });
  Policy policy = policy_of(strict);
  Block block = running_block();
  policy.start_block(block);
  const std::size_t first = *policy.next_warp(block);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*policy.next_warp(block), first);
  block.warps[first].splits[0].state = Split::State::barrier;
  const std::size_t second = *policy.next_warp(block);
  EXPECT_NE(second, first);
  block.warps[first].splits[0].state = Split::State::running;
  EXPECT_EQ(*policy.next_warp(block), first) << "it has not lost its priority by waiting";
  policy.used_up(block, first);
  EXPECT_EQ(*policy.next_warp(block), second);
}

TEST(SchedulePolicy, NoWarpThatCanGoOnIsNone) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Policy policy = policy_of(seed);
    Block block = running_block();
    policy.start_block(block);
    for (Warp& warp : block.warps) warp.splits[0].state = Split::State::barrier;
    EXPECT_FALSE(policy.next_warp(block));
  }
}

// Warp 0 waits for warp 3 of its block; all blocks but the last wait for the last.
constexpr const char* kChain = R"(
    shr.u32 %r1, %t2, 5;
    setp.eq.u32 %p1, %r1, 3;
    @%p1 bra LAST_WARP;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
WAIT_WARP:
    ld.relaxed.cta.shared.u32 %r2, [warp_flag];
    setp.ne.u32 %p2, %r2, 1;
    @%p2 bra WAIT_WARP;
WAIT_BLOCK:
    ld.acquire.gpu.global.u32 %r2, [block_flag];
    setp.ne.u32 %p2, %r2, 1;
    @%p2 bra WAIT_BLOCK;
    bra DONE;
LAST_WARP:
    st.relaxed.cta.shared.u32 [warp_flag], 1;
    setp.ne.u32 %p3, %t0, 5;
    @%p3 bra DONE;
    st.release.gpu.global.u32 [block_flag], 1;
DONE:
    st.global.u32 [%rd2], 7;
    ret;)";
constexpr const char* kChainVariables = ".global .u32 block_flag;\n.shared .u32 warp_flag;\n";

TEST(SchedulePolicy, WhoeverSpinsGivesWay) {
  for (std::uint64_t seed = 0; seed < 90; ++seed) {
    TestMachine machine(128, 6);
    machine.options.schedule_seed = seed;
    const Outcome outcome = machine.run(kChain, kChainVariables);
    ASSERT_FALSE(outcome.fault) << describe(Schedule::of(seed)) << TestMachine::describe(outcome);
    EXPECT_EQ(machine.out(0), 7U);
  }
}

}  // namespace
}  // namespace bitgate::machine
