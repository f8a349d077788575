#include <gtest/gtest.h>

#include <string>

#include "reference/machine/exec/test_machine.h"
#include "reference/support/error.h"

// Divergence, reconvergence, barriers, calls, and what stops a run.

namespace bitgate::machine {
namespace {

TEST(Divergence, LanesTakeBothSidesAndMeetAgain) {
  TestMachine machine(64);
  const Outcome outcome = machine.run(R"(
    and.b32 %r1, %t2, 1;
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra EVEN;
    mov.u32 %r2, 100;
    bra JOIN;
EVEN:
    mov.u32 %r2, 200;
JOIN:
    activemask.b32 %r3;
    st.global.v2.u32 [%rd2], {%r2, %r3};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 64; ++t) {
    EXPECT_EQ(machine.out(t), t % 2 == 0 ? 200U : 100U);
    EXPECT_EQ(machine.out(t, 1), 0xffffffffU);
  }
}

TEST(Divergence, LoopsOfDifferentLengths) {
  TestMachine machine(40);
  const Outcome outcome = machine.run(R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
LOOP:
    setp.ge.u32 %p1, %r1, %t2;
    @%p1 bra DONE;
    add.u32 %r2, %r2, %r1;
    add.u32 %r1, %r1, 1;
    bra LOOP;
DONE:
    st.global.u32 [%rd2], %r2;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 40; ++t) EXPECT_EQ(machine.out(t), t * (t - 1) / 2);
}

TEST(Divergence, ALaneMayWaitForAnotherOfItsWarp) {
  // Lane 0 spins at a lower place than the code in which lane 1 sets the flag.
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    .shared .u32 flag;
    setp.ne.u32 %p1, %t2, 0;
    @!%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @%p1 bra OTHERS;
SPIN:
    ld.volatile.shared.u32 %r1, [flag];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra SPIN;
    st.global.u32 [%rd2], %r1;
    ret;
OTHERS:
    setp.eq.u32 %p3, %t2, 1;
    @%p3 st.volatile.shared.u32 [flag], 7;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0), 7U);
}

TEST(Divergence, IndirectBranches) {
  TestMachine machine;
  const std::string body = R"(
    ld.global.u32 %r1, [%rd1];
TABLE: .branchtargets A, B, C;
    brx.idx %r1, TABLE;
A:  mov.u32 %r2, 10;
    bra END;
B:  mov.u32 %r2, 20;
    bra END;
C:  mov.u32 %r2, 30;
END:
    st.global.u32 [%rd2], %r2;
    ret;)";
  for (std::size_t t = 0; t < 32; ++t) machine.in(t, 0) = static_cast<std::uint32_t>(t % 3);
  Outcome outcome = machine.run(body);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), 10 * (t % 3 + 1));
  machine.in(9, 0) = 3;
  outcome = machine.run(body);
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::out_of_bounds);
  EXPECT_EQ(outcome.fault->site.thread.x, 9U);
}

TEST(Barriers, OrderSharedMemory) {
  TestMachine machine(100, 3);
  const Outcome outcome = machine.run(R"(
    .shared .align 4 .b8 buffer[400];
    mov.u32 %r1, buffer;
    shl.b32 %r2, %t2, 2;
    add.u32 %r3, %r1, %r2;
    st.shared.u32 [%r3], %t3;
    barrier.sync 0;
    sub.u32 %r4, 99, %t2;
    shl.b32 %r4, %r4, 2;
    add.u32 %r4, %r1, %r4;
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%rd2], %r5;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 300; ++t) EXPECT_EQ(machine.out(t), t / 100 * 100 + 99 - t % 100);
}

TEST(Barriers, NamedWithCountsAndReductions) {
  TestMachine machine(128);
  const Outcome outcome = machine.run(R"(
    .shared .u32 word;
    shr.u32 %r1, %t2, 5;
    setp.lt.u32 %p1, %r1, 2;
    @!%p1 bra CONSUMER;
    setp.eq.u32 %p2, %t2, 3;
    @%p2 st.shared.u32 [word], 42;
    bar.arrive 1, 128;
    bra NEXT;
CONSUMER:
    bar.sync 1, 128;
    ld.shared.u32 %r2, [word];
    st.global.u32 [%rd2], %r2;
NEXT:
    setp.lt.u32 %p3, %t2, 50;
    bar.red.popc.u32 %r3, 2, %p3;
    bar.red.and.pred %p4, 3, %p3;
    bar.red.or.pred %p5, 3, !%p3;
    selp.u32 %r4, 1, 0, %p4;
    selp.u32 %r5, 1, 0, %p5;
    st.global.v2.u32 [%rd2+8], {%r3, %r4};
    st.global.u32 [%rd2+16], %r5;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 128; ++t) {
    EXPECT_EQ(machine.out(t), t < 64 ? 0U : 42U);
    EXPECT_EQ(machine.out(t, 2), 50U);
    EXPECT_EQ(machine.out(t, 3), 0U);
    EXPECT_EQ(machine.out(t, 4), 1U);
  }
}

TEST(Barriers, ExitedThreadsAreNotWaitedFor) {
  TestMachine machine(96);
  const Outcome outcome = machine.run(R"(
    setp.ge.u32 %p1, %t2, 40;
    @%p1 exit;
    bar.sync 0;
    st.global.u32 [%rd2], 1;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(39), 1U);
  EXPECT_EQ(machine.out(40), 0U);
}

TEST(Barriers, DeadlockSaysWhoWaits) {
  TestMachine machine(64);
  const Outcome outcome = machine.run(R"(
    setp.lt.u32 %p1, %t2, 32;
    @%p1 bra FIRST;
    bar.sync 1;
    ret;
FIRST:
    bar.sync 2;
    ret;)");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::deadlock);
  EXPECT_NE(outcome.fault->message.find("barrier 1: 32 of 64"), std::string::npos)
      << outcome.fault->message;
  EXPECT_NE(outcome.fault->message.find("bar.sync 2"), std::string::npos);
}

TEST(Barriers, BadOperandsAreFaults) {
  const auto kind = [](const std::string& body) {
    TestMachine machine(64);
    const Outcome outcome = machine.run(body + " ret;");
    EXPECT_TRUE(outcome.fault) << body;
    return outcome.fault ? outcome.fault->kind : Fault::Kind::trap;
  };
  EXPECT_EQ(kind("bar.sync 16;"), Fault::Kind::barrier);
  EXPECT_EQ(kind("bar.sync 1, 33;"), Fault::Kind::barrier);
  EXPECT_EQ(kind("bar.sync 1, 96;"), Fault::Kind::barrier);
  EXPECT_EQ(kind("bar.sync %t2;"), Fault::Kind::barrier);
  EXPECT_EQ(kind("bar.arrive 1, 64; bar.arrive 1, 64;"), Fault::Kind::barrier);
}

TEST(Calls, AreExpandedWithParametersAndGuards) {
  TestMachine machine;
  const std::string function = R"(
.func (.param .b32 result) twice_plus(.param .b32 a, .param .align 4 .b8 pair[8])
{
  .reg .b32 %r<8>;
  .reg .pred %p<2>;
  ld.param.u32 %r1, [a];
  ld.param.u32 %r2, [pair];
  ld.param.u32 %r3, [pair+4];
  setp.eq.u32 %p1, %r1, 4;
  @%p1 bra EARLY;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  st.param.b32 [result], %r4;
  ret;
EARLY:
  st.param.b32 [result], 1000;
  ret;
}
)";
  const Outcome outcome = machine.run(R"(
    mov.u32 %r20, 5;
    setp.lt.u32 %p1, %t2, 16;
    {
      .param .b32 x;
      .param .align 4 .b8 y[8];
      .param .b32 z;
      st.param.b32 [x], %t2;
      st.param.b32 [y], 2;
      st.param.b32 [y+4], 7;
      @%p1 call (z), twice_plus, (x, y);
      @%p1 ld.param.b32 %r20, [z];
    }
    st.global.u32 [%rd2], %r20;
    ret;)",
                                      function);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t), t >= 16 ? 5U : t == 4 ? 1000U : 2 * t + 7) << t;
  }
}

TEST(Stops, UnsupportedNamesInstructionLineAndReasonOnlyWhenReached) {
  TestMachine machine;
  Outcome outcome =
      machine.run(".file 1 \"kernel.cu\"\n.loc 1 42 3\nwgmma.fence.sync.aligned; ret;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::unsupported);
  EXPECT_EQ(outcome.fault->site.instruction, "wgmma.fence.sync.aligned");
  EXPECT_EQ(outcome.fault->site.line, 42U);
  EXPECT_EQ(outcome.fault->site.file, "kernel.cu");
  EXPECT_NE(outcome.fault->message.find("warp group"), std::string::npos);
  outcome = machine.run("setp.eq.u32 %p1, %t2, 99; @%p1 wgmma.fence.sync.aligned; ret;");
  EXPECT_FALSE(outcome.fault);
  outcome = machine.run("add.s32 %r1, %rd1, 1; ret;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_NE(outcome.fault->message.find("width"), std::string::npos) << outcome.fault->message;
}

TEST(Stops, TrapTimeLimitAndInterrupt) {
  TestMachine machine;
  Outcome outcome = machine.run("setp.eq.u32 %p1, %t2, 3; @%p1 trap; ret;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::trap);
  EXPECT_EQ(outcome.fault->site.thread.x, 3U);

  machine.options.time_limit = std::chrono::milliseconds(20);
  outcome = machine.run("FOREVER: bra FOREVER;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::timeout);
  EXPECT_EQ(outcome.fault->site.instruction, "FOREVER: bra FOREVER");

  machine.options.time_limit = std::chrono::seconds(20);
  const volatile bool interrupted = true;
  machine.options.interrupted = &interrupted;
  outcome = machine.run("FOREVER: bra FOREVER;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::interrupted);
}

TEST(WarpOperations, ShufflesVotesMatchesAndReductions) {
  TestMachine machine;
  for (std::size_t t = 0; t < 32; ++t) machine.in(t, 0) = static_cast<std::uint32_t>(100 + t);
  const Outcome outcome = machine.run(R"(
    ld.global.u32 %r1, [%rd1];
    shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
    shfl.sync.down.b32 %r3|%p1, %r1, 4, 31, -1;
    shfl.sync.up.b32 %r4, %r1, 1, 0, -1;
    shfl.sync.idx.b32 %r5, %r1, 3, 0x181f, -1;
    selp.u32 %r6, 1, 0, %p1;
    setp.lt.u32 %p2, %t2, 7;
    vote.sync.ballot.b32 %r7, %p2, -1;
    vote.sync.any.pred %p3, %p2, -1;
    vote.sync.all.pred %p4, !%p2, -1;
    selp.u32 %r8, 1, 0, %p3;
    selp.u32 %r9, 1, 0, %p4;
    and.b32 %r10, %t2, 3;
    match.any.sync.b32 %r11, %r10, -1;
    redux.sync.add.s32 %r12, %r1, -1;
    redux.sync.max.s32 %r13, %r1, -1;
    st.global.v4.u32 [%rd2], {%r2,%r3,%r4,%r5};
    st.global.v4.u32 [%rd2+16], {%r6,%r7,%r8,%r9};
    st.global.v4.u32 [%rd2+32], {%r11,%r12,%r13,%r13};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t, 0), 100 + (t ^ 1));
    EXPECT_EQ(machine.out(t, 1), 100 + (t + 4 < 32 ? t + 4 : t));
    EXPECT_EQ(machine.out(t, 2), 100 + (t > 0 ? t - 1 : 0));
    EXPECT_EQ(machine.out(t, 3), 100 + (t & 24U) + 3);
    EXPECT_EQ(machine.out(t, 4), t + 4 < 32 ? 1U : 0U);
    EXPECT_EQ(machine.out(t, 5), 0x7fU);
    EXPECT_EQ(machine.out(t, 6), 1U);
    EXPECT_EQ(machine.out(t, 7), 0U);
    EXPECT_EQ(machine.out(t, 8), 0x11111111U << (t % 4));
    EXPECT_EQ(machine.out(t, 9), 3200 + 31U * 16);
    EXPECT_EQ(machine.out(t, 10), 131U);
  }
}

TEST(WarpOperations, WaitForTheLanesOfTheirMask) {
  // Both halves of a diverged warp meet at the same shuffle; each names its own half.
  TestMachine machine;
  Outcome outcome = machine.run(R"(
    setp.lt.u32 %p1, %t2, 16;
    mov.u32 %r1, 0xffff;
    @%p1 bra GO;
    mov.u32 %r1, 0xffff0000;
GO:
    shfl.sync.bfly.b32 %r2, %t2, 1, 31, %r1;
    redux.sync.min.u32 %r3, %t2, %r1;
    st.global.v2.u32 [%rd2], {%r2, %r3};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t), t ^ 1);
    EXPECT_EQ(machine.out(t, 1), t < 16 ? 0U : 16U);
  }

  outcome = machine.run(R"(
    setp.lt.u32 %p1, %t2, 16;
    @%p1 bra OTHER;
    bar.warp.sync -1;
    st.global.u32 [%rd2], 1;
    ret;
OTHER:
    bar.warp.sync -1;
    st.global.u32 [%rd2], 2;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0), 2U);
  EXPECT_EQ(machine.out(16), 1U);
}

TEST(WarpOperations, MissingLanesAreFaults) {
  TestMachine machine;
  Outcome outcome = machine.run(R"(
    setp.lt.u32 %p1, %t2, 16;
    @%p1 bra OTHER;
    shfl.sync.bfly.b32 %r2, %t2, 16, 31, -1;
    ret;
OTHER:
    bar.sync 0;
    ret;)");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::deadlock);
  outcome = machine.run("shfl.sync.bfly.b32 %r2, %t2, 16, 31, 0xffff; ret;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::inactive_lane);
  outcome = machine.run(
      "setp.lt.u32 %p1, %t2, 16; @!%p1 exit; shfl.sync.bfly.b32 %r2, %t2, 16, 31, -1; ret;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::inactive_lane);
}

TEST(Launches, BadOnesAreInputErrors) {
  const Program program = Program::load(
      ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u32 a)\n.maxntid 64, 1, 1\n"
      "{ ret; }\n");
  GlobalMemory memory;
  Launch launch;
  launch.entry = "k";
  launch.block = {32, 1, 1};
  launch.parameters.resize(4);
  EXPECT_FALSE(run(program, launch, memory, {}).fault);
  const auto rejects = [&](auto&& change) {
    Launch bad = launch;
    change(bad);
    EXPECT_THROW(run(program, bad, memory, {}), InputError);
  };
  rejects([](Launch& l) { l.entry = "other"; });
  rejects([](Launch& l) { l.block = {65, 1, 1}; });
  rejects([](Launch& l) { l.block = {0, 1, 1}; });
  rejects([](Launch& l) { l.block = {1, 1, 65}; });
  rejects([](Launch& l) { l.grid = {1, 0, 1}; });
  rejects([](Launch& l) { l.grid = {1, 65536, 1}; });
  rejects([](Launch& l) { l.parameters.resize(8); });
  rejects([](Launch& l) { l.dynamic_shared_bytes = 1U << 20; });
  EXPECT_THROW(Program::load("not ptx"), InputError);
}

}  // namespace
}  // namespace bitgate::machine
