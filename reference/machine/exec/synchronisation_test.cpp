#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "reference/machine/exec/test_machine.h"

// mbarrier objects, copies that arrive at them, elections, clocks, and what only paces.

namespace bitgate::machine {
namespace {

TEST(Mbarriers, CompleteAPhaseWhenAllHaveArrived) {
  // Warp 0 consumes what warps 1 to 3 write, twice, by parity.
  TestMachine machine(128);
  const Outcome outcome = machine.run(R"(
    .shared .align 8 .b64 bar;
    .shared .align 4 .b8 data[512];
    mov.u32 %r1, bar;
    setp.eq.u32 %p1, %t2, 0;
    @%p1 mbarrier.init.shared.b64 [%r1], 96;
    bar.sync 0;
    setp.lt.u32 %p2, %t2, 32;
    mov.u32 %r2, 0;
ROUND:
    @%p2 bra CONSUME;
    shl.b32 %r3, %t2, 2;
    mov.u32 %r4, data;
    add.u32 %r4, %r4, %r3;
    mad.lo.u32 %r5, %r2, 1000, %t2;
    st.shared.u32 [%r4], %r5;
    mbarrier.arrive.shared::cta.b64 %rd3, [%r1];
    bra NEXT;
CONSUME:
    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [bar], %r2, 1000;
    @!%p3 bra CONSUME;
    ld.shared.u32 %r6, [data+508];
    mul.wide.u32 %rd4, %r2, 4;
    add.s64 %rd4, %rd2, %rd4;
    st.global.u32 [%rd4], %r6;
NEXT:
    bar.sync 1;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p4, %r2, 2;
    @%p4 bra ROUND;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t, 0), 127U);
    EXPECT_EQ(machine.out(t, 1), 1127U);
  }
}

TEST(Mbarriers, CountArrivalsDropsAndTransactions) {
  TestMachine machine(1);
  const Outcome outcome = machine.run(R"(
    .shared .align 8 .b64 bar;
    mbarrier.init.shared.b64 [bar], 3;
    mbarrier.arrive.shared.b64 %rd3, [bar];
    mbarrier.pending_count.b64 %r1, %rd3;
    mbarrier.arrive.noComplete.release.cta.shared.b64 %rd4, [bar], 1;
    mbarrier.pending_count.b64 %r2, %rd4;
    mbarrier.test_wait.shared.b64 %p1, [bar], %rd3;
    mbarrier.arrive_drop.shared.b64 %rd5, [bar];
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd5;
    mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0;
    mbarrier.test_wait.parity.shared.b64 %p4, [bar], 1;
    // The next phase waits for two, and for 8 bytes.
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd6, [bar], 8;
    mbarrier.pending_count.b64 %r3, %rd6;
    mbarrier.arrive.shared.b64 _, [bar];
    mbarrier.test_wait.shared.b64 %p5, [bar], %rd6;
    mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 8;
    mbarrier.test_wait.shared.b64 %p6, [bar], %rd6;
    mbarrier.inval.shared.b64 [bar];
    selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 1, 0, %p3;
    selp.u32 %r7, 1, 0, %p4; selp.u32 %r8, 1, 0, %p5; selp.u32 %r9, 1, 0, %p6;
    st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};
    st.global.v4.u32 [%rd2+16], {%r5, %r6, %r7, %r8};
    st.global.u32 [%rd2+32], %r9;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  const std::uint32_t expected[] = {3, 2, 2, 0, 1, 1, 0, 0, 1};
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(machine.out(0, i), expected[i]) << i;
}

TEST(Mbarriers, MisuseIsAFault) {
  const auto faults = [](const std::string& body) {
    TestMachine machine(1);
    const Outcome outcome = machine.run(".shared .align 8 .b64 bar;\n" + body + " ret;");
    return outcome.fault && outcome.fault->kind == Fault::Kind::barrier;
  };
  EXPECT_TRUE(faults("mbarrier.init.shared.b64 [bar], 0;"));
  EXPECT_TRUE(faults("mbarrier.init.shared.b64 [bar], 1048576;"));
  EXPECT_TRUE(
      faults("mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared.b64 %rd3, [bar], 3;"));
  EXPECT_TRUE(
      faults("mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.noComplete.release.cta."
             "shared.b64 %rd3, [bar], 1;"));
  EXPECT_FALSE(faults("mbarrier.init.shared.b64 [bar], 1048575;"));
}

TEST(Mbarriers, AThreadsCopiesArrive) {
  TestMachine machine;
  for (std::size_t t = 0; t < 32; ++t) machine.in(t, 0) = static_cast<std::uint32_t>(t + 70);
  for (const char* noinc : {"", ".noinc"}) {
    const std::string count = *noinc == 0 ? "1" : "33";
    const Outcome outcome = machine.run(R"(
    .shared .align 8 .b64 bar;
    .shared .align 4 .b8 data[128];
    setp.eq.u32 %p1, %t2, 0;
    @%p1 mbarrier.init.shared.b64 [bar], )" +
                                        count + R"(;
    bar.sync 0;
    shl.b32 %r1, %t2, 2;
    mov.u32 %r2, data;
    add.u32 %r2, %r2, %r1;
    cp.async.ca.shared.global [%r2], [%rd1], 4;
    cp.async.mbarrier.arrive)" + noinc +
                                        R"(.shared.b64 [bar];
    @%p1 mbarrier.arrive.shared.b64 %rd3, [bar];
WAIT:
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
    xor.b32 %r3, %r2, 4;
    ld.shared.u32 %r4, [%r3];
    st.global.u32 [%rd2], %r4;
    ret;)");
    ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
    for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), (t ^ 1) + 70);
  }
}

TEST(AsyncCopies, IgnoreTheirSourceWhereAPredicateSaysSo) {
  TestMachine machine;
  for (std::size_t t = 0; t < 32; ++t) machine.in(t, 0) = static_cast<std::uint32_t>(t + 70);
  const Outcome outcome = machine.run(R"(
    .shared .align 16 .b8 data[512];
    shl.b32 %r1, %t2, 4;
    mov.u32 %r2, data;
    add.u32 %r2, %r2, %r1;
    setp.lt.u32 %p1, %t2, 8;
    mov.u64 %rd4, 0;
    @%p1 mov.u64 %rd1, 0;
    cp.async.cg.shared.global.L2::cache_hint.L2::128B [%r2], [%rd1], 16, %p1, %rd4;
    cp.async.wait_all;
    ld.shared.u32 %r4, [%r2];
    st.global.u32 [%rd2], %r4;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), t < 8 ? 0 : t + 70);
}

TEST(Elections, OneLaneOfTheMaskLeads) {
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    setp.ge.u32 %p1, %t2, 8;
    mov.u32 %r1, 0xff;
    @%p1 mov.u32 %r1, 0xffffff00;
    elect.sync %r2|%p2, %r1;
    selp.u32 %r3, 1, 0, %p2;
    st.global.v2.u32 [%rd2], {%r2, %r3};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t, 0), t < 8 ? 0U : 8U);
    EXPECT_EQ(machine.out(t, 1), t == 0 || t == 8 ? 1U : 0U);
  }
}

TEST(Clocks, GoOnAndWaitsForThemEnd) {
  const auto run = [](std::uint32_t threads) {
    TestMachine machine(64, 6);
    machine.options.threads = threads;
    const Outcome outcome = machine.run(R"(
    mov.u32 %r1, %clock;
    mov.u64 %rd3, %clock64;
WAIT:
    mov.u64 %rd4, %globaltimer;
    sub.s64 %rd5, %rd4, %rd3;
    setp.lt.u64 %p1, %rd5, 5000;
    @%p1 bra WAIT;
    st.global.u64 [%rd2], %rd5;
    st.global.u64 [%rd2+8], %rd4;
    ret;)");
    EXPECT_FALSE(outcome.fault) << TestMachine::describe(outcome);
    std::vector<std::uint64_t> result;
    for (std::size_t t = 0; t < 64 * 6; ++t) {
      result.push_back(machine.out64(t));
      result.push_back(machine.out64(t, 2));
    }
    return result;
  };
  const auto alone = run(1);
  EXPECT_GE(alone[0], 5000U);
  EXPECT_EQ(alone, run(3));
}

TEST(Pacing, ChangesNothing) {
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    mov.u32 %r1, 3;
    nanosleep.u32 %r1;
    griddepcontrol.launch_dependents;
    griddepcontrol.wait;
    setmaxnreg.inc.sync.aligned.u32 240;
    pmevent 1;
    fence.proxy.async;
    fence.mbarrier_init.release.cluster;
    fence.acq_rel.gpu;
    membar.sys;
    prefetch.global.L2 [%rd1];
    discard.global.L2 [%rd1], 128;
    createpolicy.fractional.L2::evict_last.b64 %rd3, 1.0;
    ld.global.L2::cache_hint.u32 %r2, [%rd1], %rd3;
    mov.u32 %r3, %cluster_nctarank;
    mov.u32 %r4, %cluster_ctarank;
    mov.u32 %r5, %pm0;
    mov.u32 %r6, %nclusterid.x;
    st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0, 0), 1U);
  EXPECT_EQ(machine.out(0, 1), 0U);
  EXPECT_EQ(machine.out(0, 2), 0U);
  EXPECT_EQ(machine.out(0, 3), 1U);
}

TEST(Clusters, AreUnsupportedByName) {
  for (const char* body :
       {"barrier.cluster.arrive.aligned;", "barrier.cluster.wait;", "mapa.u64 %rd3, %rd4, 1;",
        "wgmma.fence.sync.aligned;", "cp.async.bulk.commit_group;",
        "multimem.red.global.add.u32 [%rd1], 1;"}) {
    TestMachine machine;
    const Outcome outcome = machine.run(std::string(body) + " ret;");
    ASSERT_TRUE(outcome.fault) << body;
    EXPECT_EQ(outcome.fault->kind, Fault::Kind::unsupported) << body;
    EXPECT_NE(outcome.fault->message.find("not implemented"), std::string::npos) << body;
  }
}

}  // namespace
}  // namespace bitgate::machine
