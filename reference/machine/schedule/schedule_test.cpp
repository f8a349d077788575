#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "reference/machine/exec/test_machine.h"

// Orders of blocks and warps, residency, host threads.

namespace bitgate::machine {
namespace {

/// Each block adds itself to a chain through the module's counter; the order is what they saw.
constexpr const char* kTicket = R"(
    atom.global.add.u32 %r1, [ticket], 1;
    st.global.u32 [%rd2], %r1;
    ret;)";
constexpr const char* kTicketVariable = ".global .u32 ticket;\n";

std::vector<std::uint32_t> tickets(std::uint64_t seed) {
  TestMachine machine(32, 12);
  machine.options.schedule_seed = seed;
  const Outcome outcome = machine.run(kTicket, kTicketVariable);
  EXPECT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  std::vector<std::uint32_t> result;
  for (std::size_t block = 0; block < 12; ++block) result.push_back(machine.out(32 * block));
  return result;
}

TEST(Schedules, SeedZeroAscendsAndSeedsDiffer) {
  std::vector<std::uint32_t> ascending;
  for (std::uint32_t block = 0; block < 12; ++block) ascending.push_back(32 * block);
  EXPECT_EQ(tickets(0), ascending);
  std::size_t different = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    EXPECT_EQ(tickets(seed), tickets(seed)) << "a seed is one schedule";
    different += tickets(seed) != ascending ? 1 : 0;
  }
  EXPECT_GT(different, 6U);
}

// Block 0 waits until the last block has arrived.
constexpr const char* kWait = R"(
    setp.ne.u32 %p1, %t0, 0;
    @%p1 bra ARRIVE;
WAIT:
    ld.acquire.gpu.global.u32 %r1, [arrived];
    setp.ne.u32 %p2, %r1, 7;
    @%p2 bra WAIT;
    st.global.u32 [%rd2], %r1;
    ret;
ARRIVE:
    setp.ne.u32 %p3, %t2, 0;
    @%p3 exit;
    red.release.gpu.global.add.u32 [arrived], 1;
    ret;)";
constexpr const char* kWaitVariable = ".global .u32 arrived;\n";

TEST(Schedules, ALowBlockMayWaitForHigherOnes) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    TestMachine machine(64, 8);
    machine.options.schedule_seed = seed;
    const Outcome outcome = machine.run(kWait, kWaitVariable);
    ASSERT_FALSE(outcome.fault) << seed << TestMachine::describe(outcome);
    EXPECT_EQ(machine.out(0), 7U);
  }
}

TEST(Schedules, ResidencyIsALimit) {
  TestMachine machine(64, 8);
  machine.options.resident_blocks = 1;
  machine.options.time_limit = std::chrono::milliseconds(50);
  const Outcome outcome = machine.run(kWait, kWaitVariable);
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::timeout);
  EXPECT_EQ(outcome.fault->site.block.x, 0U);
}

TEST(Schedules, HostThreadsChangeNeitherBitsNorTheFault) {
  const std::string body = R"(
    ld.global.u32 %r1, [%rd1];
    mov.u32 %r2, 0;
LOOP:
    mad.lo.s32 %r1, %r1, 1664525, 1013904223;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 200;
    @%p1 bra LOOP;
    st.global.u32 [%rd2], %r1;
    ret;)";
  std::vector<std::uint32_t> first;
  for (const std::uint32_t threads : {1U, 2U, 3U}) {
    TestMachine machine(48, 40);
    machine.options.threads = threads;
    for (std::size_t t = 0; t < 48 * 40; ++t) machine.in(t, 0) = static_cast<std::uint32_t>(t);
    const Outcome outcome = machine.run(body);
    ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
    EXPECT_EQ(outcome.warp_instructions % 80, 0U);
    std::vector<std::uint32_t> bits;
    for (std::size_t t = 0; t < 48 * 40; ++t) bits.push_back(machine.out(t));
    if (first.empty()) first = bits;
    EXPECT_EQ(bits, first);
  }
  for (const std::uint32_t threads : {1U, 3U}) {
    TestMachine machine(32, 40);
    machine.options.threads = threads;
    const Outcome outcome =
        machine.run("setp.ge.u32 %p1, %t0, 17; @%p1 st.global.u32 [%rd1], 0; ret;");
    ASSERT_TRUE(outcome.fault);
    EXPECT_EQ(outcome.fault->site.block.x, 17U);
  }
}

TEST(Schedules, ThreadIndicesFollowTheBlockShape) {
  const Program program = Program::load(R"(.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 out)
{
  .reg .b32 %r<16>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
  mov.u32 %r4, %ctaid.y; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %ntid.z;
  mad.lo.s32 %r7, %r3, 3, %r2; mad.lo.s32 %r7, %r7, 5, %r1;
  mad.lo.s32 %r8, %r4, 30, %r7;
  mul.wide.u32 %rd2, %r8, 4; add.s64 %rd1, %rd1, %rd2;
  mad.lo.s32 %r9, %r4, 1000, %r7; mad.lo.s32 %r9, %r5, 10000, %r9; mad.lo.s32 %r9, %r6, 100000, %r9;
  st.global.u32 [%rd1], %r9;
  ret;
})");
  GlobalMemory memory;
  std::vector<std::uint32_t> words(60);
  const std::uint64_t out = memory.allocate(words.size() * 4, "out");
  Launch launch;
  launch.entry = "k";
  launch.grid = {1, 2, 1};
  launch.block = {5, 3, 2};
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &out, 8);
  ASSERT_FALSE(run(program, launch, memory, {}).fault);
  memory.read(out, std::as_writable_bytes(std::span(words)));
  for (std::uint32_t i = 0; i < 60; ++i) {
    EXPECT_EQ(words[i], i / 30 * 1000 + i % 30 + 2 * 10000 + 2 * 100000);
  }
}

}  // namespace
}  // namespace bitgate::machine
