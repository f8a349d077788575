#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "reference/machine/hazard/expect_race.h"
#include "reference/machine/hazard/test_run.h"

// Each pair: a kernel with one race, and the twin that orders it. The expectation of a twin is that
// nothing at all is reported.

namespace bitgate::machine {
namespace {

/// Another warp's word: thread i reads what i ^ 32 wrote.
const std::string kOther = "xor.b32 %r5, %r0, 32; shl.b32 %r5, %r5, 2; add.s32 %r5, %r2, %r5;\n";
/// Another lane's word.
const std::string kNeighbour = "xor.b32 %r5, %r0, 1; shl.b32 %r5, %r5, 2; add.s32 %r5, %r2, %r5;\n";

TEST(Races, BlockBarrierOrdersSharedMemory) {
  const hazard::Report report =
      expect_race(kOther + "st.shared.u32 [%r3], %r0; ld.shared.u32 %r6, [%r5];", "write", "read");
  EXPECT_EQ(report.space, "shared");
  EXPECT_EQ(report.bytes, 4U);
  EXPECT_EQ(report.first.site.block, (Dim3{0, 0, 0}));
  EXPECT_EQ(report.first.site.thread.x ^ 32U, report.second->site.thread.x);
  EXPECT_EQ(report.offset, report.first.site.thread.x * 4);
  expect_clean(kOther + "st.shared.u32 [%r3], %r0; bar.sync 0; ld.shared.u32 %r6, [%r5];");
}

TEST(Races, ReuseOfSharedMemoryNeedsASecondBarrier) {
  expect_race(kOther +
                  "st.shared.u32 [%r3], %r0; bar.sync 0; ld.shared.u32 %r6, [%r5];\n"
                  "st.shared.u32 [%r3], %r6;",
              "write", "read");
  expect_clean(kOther +
               "st.shared.u32 [%r3], %r0; bar.sync 0; ld.shared.u32 %r6, [%r5];\n"
               "bar.sync 0; st.shared.u32 [%r3], %r6;");
}

TEST(Races, LanesAreThreads) {
  expect_race(kNeighbour + "st.shared.u32 [%r3], %r0; ld.shared.u32 %r6, [%r5];", "write", "read");
  expect_clean(kNeighbour +
               "st.shared.u32 [%r3], %r0; bar.warp.sync -1; ld.shared.u32 %r6, [%r5];");
  // One's own word needs nothing.
  expect_clean("st.shared.u32 [%r3], %r0; ld.shared.u32 %r6, [%r3]; st.shared.u32 [%r3], %r6;");
}

TEST(Races, ShufflesAndVotesOrderNothing) {
  for (const char* between :
       {"shfl.sync.idx.b32 %r7, %r0, 0, 31, -1;",
        "setp.eq.u32 %p1, %r0, 0; vote.sync.any.pred %p2, %p1, -1;",
        "match.any.sync.b32 %r7, %r0, -1;", "redux.sync.add.u32 %r7, %r0, -1;"}) {
    expect_race(kNeighbour + "st.shared.u32 [%r3], %r0;" + between + "ld.shared.u32 %r6, [%r5];",
                "write", "read");
  }
}

TEST(Races, WarpBarrierOfSomeLanesOrdersThese) {
  // Lanes 0 to 15 meet; the others do not, and read what those wrote.
  const std::string some =
      "setp.lt.u32 %p1, %r4, 16; @!%p1 bra REST; st.shared.u32 [%r3], %r0;\n"
      "bar.warp.sync 0xffff; ld.shared.u32 %r6, [%r5]; bra END; REST:\n";
  expect_clean(kNeighbour + some + "END:", {.threads = 32});
  expect_race(kNeighbour + some + "xor.b32 %r7, %r3, 64; ld.shared.u32 %r6, [%r7]; END:", "write",
              "read", {.threads = 32});
}

TEST(Races, WarpBarrierIsCumulative) {
  // Warp 1's word comes to lane 0 of warp 0 by a flag, and to lane 1 by the warp's barrier.
  const auto body = [](const std::string& between) {
    return "mov.u32 %r9, 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra WRITER;\n"
           "setp.ne.u32 %p2, %r0, 0; @%p2 bra MEET;\n"
           "SPIN: ld.acquire.gpu.global.u32 %r6, [%rd1+512]; setp.eq.u32 %p3, %r6, 0; @%p3 bra "
           "SPIN;\n"
           "MEET: " +
           between +
           " setp.ne.u32 %p4, %r0, 1; @%p4 bra END; ld.global.u32 %r7, [%rd1+1024]; bra END;\n"
           "WRITER: setp.ne.u32 %p2, %r0, 32; @%p2 bra END; st.global.u32 [%rd1+1024], %r0;\n"
           "mov.u32 %r8, 1; st.release.gpu.global.u32 [%rd1+512], %r8; END:";
  };
  expect_clean(body("bar.warp.sync -1;"));
  expect_race(body(""), "write", "read");
}

TEST(Races, ByteGranule) {
  // Two lanes write the two halves of a word, bytes of it, and the same half.
  const std::string half = "shl.b32 %r5, %r0, 1; add.s32 %r5, %r2, %r5; cvt.u16.u32 %h1, %r0;\n";
  expect_clean(half + "st.shared.u16 [%r5], %h1;");
  expect_clean(
      "add.s32 %r5, %r2, %r0; st.shared.u8 [%r5], %r0; bar.sync 0; st.shared.u32 [%r3], %r0;");
  expect_race("add.s32 %r5, %r2, %r0; st.shared.u8 [%r5], %r0; ld.shared.u16 %h1, [%r2+4];",
              "write", "read", {.threads = 32});
}

TEST(Races, WritesOfOneValue) {
  EXPECT_TRUE(
      expect_race("mov.u32 %r6, 7; st.shared.u32 [%r2], %r6;", "write", "write").same_value);
  EXPECT_FALSE(expect_race("st.shared.u32 [%r2], %r0;", "write", "write").same_value);
  // Of two warps, each with one writer.
  const std::string lane0 = "setp.ne.u32 %p1, %r4, 0;\n";
  EXPECT_TRUE(
      expect_race(lane0 + "mov.u32 %r6, 7; @!%p1 st.shared.u32 [%r2], %r6;", "write", "write")
          .same_value);
  EXPECT_FALSE(expect_race(lane0 + "@!%p1 st.shared.u32 [%r2], %r0;", "write", "write").same_value);
}

TEST(Races, ArriveReleasesAndDoesNotAcquire) {
  // Warp 1 produces and arrives; warp 0 waits and reads.
  const std::string body =
      "setp.ge.u32 %p1, %r0, 32; @%p1 bra MAKE;\n"
      "bar.sync 1, 64; ld.shared.u32 %r6, [%r3]; bra END;\n"
      "MAKE: sub.u32 %r7, %r3, 128; st.shared.u32 [%r7], %r0; bar.arrive 1, 64;\n";
  expect_clean(body + "END:");
  expect_race(
      "setp.ge.u32 %p1, %r0, 32; @%p1 bra MAKE;\n"
      "st.shared.u32 [%r3], %r0; bar.sync 1, 64; bra END;\n"
      "MAKE: bar.arrive 1, 64; sub.u32 %r7, %r3, 128; ld.shared.u32 %r6, [%r7];\nEND:",
      "write", "read");
}

// A message through global memory between two blocks: block 0 writes data and a flag, block 1
// waits.
std::string message(const std::string& send, const std::string& receive) {
  return "setp.ne.u32 %p1, %r0, 0; @%p1 bra END; setp.ne.u32 %p2, %r1, 0; @%p2 bra WAIT;\n"
         "mov.u32 %r5, 42; mov.u32 %r9, 1; st.global.u32 [%rd1+64], %r5;\n" +
         send + "\nbra END;\nWAIT: " + receive +
         " setp.eq.u32 %p3, %r6, 0; @%p3 bra WAIT;\nTHEN\nld.global.u32 %r7, [%rd1+64]; END:";
}
std::string with(std::string text, const std::string& then) {
  return text.replace(text.find("THEN"), 4, then);
}

TEST(Races, ReleaseAndAcquire) {
  const Case two{.blocks = 2, .threads = 32};
  const std::string release = "st.release.gpu.global.u32 [%rd1], %r9;";
  const std::string acquire = "ld.acquire.gpu.global.u32 %r6, [%rd1];";
  const std::string relaxed = "ld.relaxed.gpu.global.u32 %r6, [%rd1];";
  expect_clean(with(message(release, acquire), ""), two);
  expect_race(with(message(release, relaxed), ""), "write", "read", two);
  expect_race(with(message("st.relaxed.gpu.global.u32 [%rd1], %r9;", acquire), ""), "write", "read",
              two);
  // A volatile flag is strong, and orders nothing.
  expect_race(
      with(message("st.volatile.global.u32 [%rd1], %r9;", "ld.volatile.global.u32 %r6, [%rd1];"),
           ""),
      "write", "read", two);
  // Of a block's scope, between blocks: the flag races as well.
  const Outcome outcome = run_body(with(message("st.release.cta.global.u32 [%rd1], %r9;",
                                                "ld.acquire.cta.global.u32 %r6, [%rd1];"),
                                        ""),
                                   two);
  EXPECT_EQ(outcome.hazards.size(), 2U) << describe(outcome);
}

TEST(Races, FencesMakePatterns) {
  const Case two{.blocks = 2, .threads = 32};
  const std::string send = "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1], %r9;";
  const std::string receive = "ld.relaxed.gpu.global.u32 %r6, [%rd1];";
  expect_clean(with(message(send, receive), "fence.acq_rel.gpu;"), two);
  expect_clean(with(message("membar.gl; st.volatile.global.u32 [%rd1], %r9;",
                            "ld.volatile.global.u32 %r6, [%rd1];"),
                    "membar.gl;"),
               two);
  expect_race(with(message(send, receive), ""), "write", "read", two);
  expect_race(with(message(send, receive), "fence.acq_rel.cta;"), "write", "read", two);
  expect_race(with(message("fence.acq_rel.cta; st.relaxed.gpu.global.u32 [%rd1], %r9;", receive),
                   "fence.acq_rel.gpu;"),
              "write", "read", two);
  // The fence comes too early to cover the data.
  expect_race(
      "setp.ne.u32 %p1, %r0, 0; @%p1 bra END; setp.ne.u32 %p2, %r1, 0; @%p2 bra WAIT;\n"
      "mov.u32 %r9, 1; fence.acq_rel.gpu; st.global.u32 [%rd1+64], %r9;\n"
      "st.relaxed.gpu.global.u32 [%rd1], %r9; bra END;\n"
      "WAIT: ld.acquire.gpu.global.u32 %r6, [%rd1]; setp.eq.u32 %p3, %r6, 0; @%p3 bra WAIT;\n"
      "ld.global.u32 %r7, [%rd1+64]; END:",
      "write", "read", two);
}

TEST(Races, ObservationGoesThroughReadModifyWrites) {
  // Block 0 releases; others add in between, relaxed; the last acquires and reads.
  const Case three{.blocks = 3, .threads = 32};
  const auto body = [](const std::string& first, const std::string& last) {
    return "setp.ne.u32 %p1, %r0, 0; @%p1 bra END; setp.eq.u32 %p2, %r1, 1; @%p2 bra MIDDLE;\n"
           "setp.eq.u32 %p2, %r1, 2; @%p2 bra LAST;\n"
           "st.global.u32 [%rd1+64], %r0; " +
           first +
           " bra END;\n"
           "MIDDLE: ld.relaxed.gpu.global.u32 %r6, [%rd1]; setp.ne.u32 %p3, %r6, 1; @%p3 bra "
           "MIDDLE;\n"
           "atom.relaxed.gpu.global.add.u32 %r7, [%rd1], 1; bra END;\n"
           "LAST: ld.relaxed.gpu.global.u32 %r6, [%rd1]; setp.ne.u32 %p3, %r6, 2; @%p3 bra "
           "LAST;\n" +
           last + " ld.global.u32 %r7, [%rd1+64]; END:";
  };
  const std::string release = "atom.release.gpu.global.add.u32 %r7, [%rd1], 1;";
  expect_clean(body(release, "fence.acq_rel.gpu;"), three);
  expect_race(body(release, ""), "write", "read", three);
  expect_race(body("atom.relaxed.gpu.global.add.u32 %r7, [%rd1], 1;", "fence.acq_rel.gpu;"),
              "write", "read", three);
}

TEST(Races, ReductionsObserveNothing) {
  // Block 1 waits by volatile reads for its turn, then takes part by red or by atom, then fences.
  const Case two{.blocks = 2, .threads = 32};
  const auto body = [](const std::string& take) {
    return "setp.ne.u32 %p1, %r0, 0; @%p1 bra END; setp.ne.u32 %p2, %r1, 0; @%p2 bra OTHER;\n"
           "st.global.u32 [%rd1+64], %r0; fence.acq_rel.gpu;\n"
           "atom.relaxed.gpu.global.add.u32 %r6, [%rd1], 1; bra END;\n"
           "OTHER: " +
           take + " fence.acq_rel.gpu; ld.global.u32 %r7, [%rd1+64]; END:";
  };
  expect_clean(body("atom.relaxed.gpu.global.add.u32 %r6, [%rd1], 1;"), two);
  expect_race(body("red.relaxed.gpu.global.add.u32 [%rd1], 1;"), "write", "read", two);
}

/// Every thread writes its word of its block's row and fences; a barrier; one thread counts; the
/// last block reads everybody's.
std::string last_arriver(const std::string& fence, const std::string& after) {
  return "mul.lo.u32 %r5, %r1, 256; cvt.u64.u32 %rd3, %r5; add.s64 %rd3, %rd3, %rd2;\n"
         "st.global.u32 [%rd3+1024], %r0; " +
         fence +
         " bar.sync 0;\n"
         "setp.ne.u32 %p1, %r0, 0; @%p1 bra MEET; atom.global.add.u32 %r6, [%rd1], 1;\n"
         "st.shared.u32 [%r2], %r6;\nMEET: bar.sync 0; ld.shared.u32 %r6, [%r2];\n"
         "setp.ne.u32 %p2, %r6, 1; @%p2 bra END; " +
         after + " ld.global.u32 %r7, [%rd2+1024]; ld.global.u32 %r8, [%rd2+1280]; END:";
}

TEST(Races, EveryThreadFencesAndOneCounts) {
  const Case two{.blocks = 2};
  expect_clean(last_arriver("membar.gl;", "membar.gl;"), two);
  // acq_rel fences have no common order; neither has a read that no fence precedes.
  expect_race(last_arriver("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"), "write", "read", two);
  EXPECT_FALSE(run_body(last_arriver("membar.gl;", ""), two).hazards.empty());
  EXPECT_FALSE(run_body(last_arriver("", "membar.gl;"), two).hazards.empty());
  EXPECT_FALSE(run_body(last_arriver("membar.cta;", "membar.gl;"), two).hazards.empty());
}

TEST(Races, FencesThatMerelyRanFirstOrderNothing) {
  // Both blocks fence; nothing says in which order.
  expect_race(
      "setp.ne.u32 %p1, %r0, 0; @%p1 bra END; setp.ne.u32 %p2, %r1, 0; @%p2 bra OTHER;\n"
      "st.global.u32 [%rd1+64], %r0; membar.gl; bra END;\n"
      "OTHER: membar.gl; ld.global.u32 %r7, [%rd1+64]; END:",
      "write", "read", {.blocks = 2, .threads = 32});
}

TEST(Races, AnObservedWriteIsOver) {
  // The last arriver resets the counter with a plain store; a second reset by another is a race.
  const std::string body =
      "setp.ne.u32 %p1, %r0, 0; @%p1 bra END; atom.global.add.u32 %r6, [%rd1], 1;\n";
  const Case four{.blocks = 4, .threads = 32};
  expect_clean(body +
                   "setp.ne.u32 %p2, %r6, 3; @%p2 bra END; mov.u32 %r7, 0;\n"
                   "st.global.u32 [%rd1], %r7; END:",
               four);
  expect_race(body +
                  "setp.ne.u32 %p2, %r6, 0; @%p2 bra END; mov.u32 %r7, 0;\n"
                  "st.global.u32 [%rd1], %r7; END:",
              "atomic", "write", four);
}

TEST(Races, AtomicsAndTheirSizes) {
  expect_clean("red.shared.add.u32 [%r2], 1; atom.shared.add.u32 %r6, [%r2], 1;");
  expect_clean("red.global.add.u32 [%rd1], 1;", {.blocks = 4});
  expect_race(
      "setp.lt.u32 %p1, %r0, 32; @%p1 atom.shared.add.u32 %r6, [%r2], 1;\n"
      "@!%p1 atom.shared.add.u64 %rd5, [%r2], 1;",
      "atomic", "atomic");
  expect_race("atom.cta.global.add.u32 %r6, [%rd1], 1;", "atomic", "atomic",
              {.blocks = 2, .threads = 32});
  expect_race(
      "setp.eq.u32 %p1, %r0, 0; atom.shared.add.u32 %r6, [%r2], 1; @%p1 ld.shared.u32 %r7, [%r2];",
      "atomic", "read");
}

TEST(Races, CopiesAreActorsOfTheirOwn) {
  const std::string copy = "cp.async.ca.shared.global [%r3], [%rd2], 4;\n";
  const std::string commit = "cp.async.commit_group;\n";
  const std::string wait = "cp.async.wait_group 0;\n";
  const std::string own = "ld.shared.u32 %r6, [%r3];\n";
  expect_clean(copy + commit + wait + own);
  expect_race(copy + commit + own, "async_write", "read");
  expect_race(copy + "cp.async.wait_group 0;\n" + own, "async_write", "read");
  expect_clean(copy + "cp.async.wait_all;\n" + own);
  // What the copy reads may not change before it is done.
  expect_race(copy + commit + "st.global.u32 [%rd2], %r0;\n" + wait, "write", "async_read");
  expect_clean(copy + commit + wait + "st.global.u32 [%rd2], %r0;\n");
  // The thread's own wait shows its own copies alone.
  expect_race(kOther + copy + commit + wait + "ld.shared.u32 %r6, [%r5];", "async_write", "read");
  expect_clean(kOther + copy + commit + wait + "bar.sync 0; ld.shared.u32 %r6, [%r5];");
  expect_race(kOther + copy + commit + "bar.sync 0;" + wait + "ld.shared.u32 %r6, [%r5];",
              "async_write", "read");
  expect_race(kNeighbour + copy + commit + wait + "ld.shared.u32 %r6, [%r5];", "async_write",
              "read");
  expect_clean(kNeighbour + copy + commit + wait + "bar.warp.sync -1; ld.shared.u32 %r6, [%r5];");
  // It comes after what its thread did before.
  expect_clean("ld.shared.u32 %r6, [%r3]; st.shared.u32 [%r3], %r6;" + copy + commit + wait + own);
  // Eager copies are no different.
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    expect_race(copy + commit + own, "async_write", "read", {.seed = seed});
  }
}

TEST(Races, GroupsOfCopies) {
  const auto stages = [](int pending) {
    return "cp.async.ca.shared.global [%r3], [%rd2], 4; cp.async.commit_group;\n"
           "cp.async.ca.shared.global [%r3+512], [%rd2+512], 4; cp.async.commit_group;\n"
           "cp.async.ca.shared.global [%r3+1024], [%rd2+1024], 4; cp.async.commit_group;\n"
           "cp.async.wait_group " +
           std::to_string(pending) + "; ld.shared.u32 %r6, [%r3+512];";
  };
  expect_clean(stages(0));
  expect_clean(stages(1));
  expect_race(stages(2), "async_write", "read");
}

TEST(Races, OnlySourceBytesAreRead) {
  // The upper half of the source is written by another thread meanwhile; src-size leaves it out.
  const auto body = [](const std::string& size) {
    return "setp.ne.u32 %p1, %r0, 0; @%p1 bra OTHER;\n"
           "cp.async.ca.shared.global [%r2], [%rd1], 8, " +
           size +
           "; cp.async.wait_all; bra END;\n"
           "OTHER: setp.ne.u32 %p2, %r0, 32; @%p2 bra END; st.global.u32 [%rd1+4], %r0; END:";
  };
  expect_clean(body("4"));
  expect_race(body("8"), "write", "async_read");
}

TEST(Races, PhasesOfAnMbarrier) {
  const std::string init =
      "mov.u32 %r8, bar; setp.ne.u32 %p1, %r0, 0; @!%p1 mbarrier.init.shared.b64 [%r8], 64; "
      "bar.sync 0;\n";
  const std::string arrive = "mbarrier.arrive.shared.b64 %rd5, [%r8];\n";
  const std::string wait =
      "WAIT: mbarrier.test_wait.shared.b64 %p2, [%r8], %rd5; @!%p2 bra WAIT;\n";
  expect_clean(init + kOther + "st.shared.u32 [%r3], %r0;" + arrive + wait +
               "ld.shared.u32 %r6, [%r5];");
  expect_race(
      init + kOther + "st.shared.u32 [%r3], %r0;" + arrive + "ld.shared.u32 %r6, [%r5];" + wait,
      "write", "read");
  // Copies that arrive by themselves.
  expect_clean(init + kOther +
               "cp.async.ca.shared.global [%r3], [%rd2], 4;\n"
               "cp.async.mbarrier.arrive.shared.b64 [%r8];" +
               arrive + wait + "ld.shared.u32 %r6, [%r5];");
  expect_race(init + kOther + "cp.async.ca.shared.global [%r3], [%rd2], 4;\n" + arrive + wait +
                  "ld.shared.u32 %r6, [%r5];",
              "async_write", "read");
}

TEST(Races, GlobalMemoryOfOneBlockAndOfTwo) {
  expect_race("st.global.u32 [%rd2], %r1;", "write", "write", {.blocks = 2});
  expect_clean(
      "cvt.u64.u32 %rd3, %r1; shl.b64 %rd3, %rd3, 8; add.s64 %rd3, %rd3, %rd2; st.global.u32 "
      "[%rd3], %r1;",
      {.blocks = 2});
  const std::string other =
      "xor.b32 %r5, %r0, 32; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd3, %rd1, %rd3;\n";
  expect_race(other + "st.global.u32 [%rd2], %r0; ld.global.u32 %r6, [%rd3];", "write", "read");
  expect_clean(other + "st.global.u32 [%rd2], %r0; bar.sync 0; ld.global.u32 %r6, [%rd3];");
}

TEST(Races, ReadOnlyDataOfALaunchStaysSo) {
  const auto kind = [](const std::string& body) {
    const Outcome outcome = run_body(body);
    EXPECT_EQ(outcome.hazards.size(), 1U) << describe(outcome);
    return outcome.hazards.empty() ? hazard::Kind::race : outcome.hazards.front().kind;
  };
  EXPECT_EQ(kind("st.global.u32 [%rd2], %r0; ld.global.nc.u32 %r6, [%rd2];"),
            hazard::Kind::read_only_write);
  EXPECT_EQ(kind("ld.global.nc.u32 %r6, [%rd2]; st.global.u32 [%rd2], %r0;"),
            hazard::Kind::read_only_write);
  expect_clean("ld.global.nc.u32 %r6, [%rd2]; st.global.u32 [%rd2+1024], %r0;");
}

TEST(Races, MatrixRowsAreReadByTheWarp) {
  const std::string store =
      "shl.b32 %r5, %r4, 4; add.s32 %r5, %r2, %r5;\n"
      "st.shared.v4.u32 [%r5], {%r0,%r0,%r0,%r0};\n";
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6,%r7,%r8,%r9}, [%r5];\n";
  expect_race(store + load, "write", "read", {.threads = 32});
  expect_clean(store + "bar.warp.sync -1;" + load, {.threads = 32});
}

TEST(Races, ALockNeedsBothItsSides) {
  const Case four{.blocks = 4, .threads = 32};
  const auto lock = [](const std::string& acquire, const std::string& release) {
    return "setp.ne.u32 %p1, %r0, 0; @%p1 bra END;\n"
           "LOCK: atom" +
           acquire +
           ".global.cas.b32 %r6, [%rd1], 0, 1; setp.ne.u32 %p2, %r6, 0;\n"
           "@%p2 bra LOCK; ld.global.u32 %r7, [%rd1+64]; add.u32 %r7, %r7, 1;\n"
           "st.global.u32 [%rd1+64], %r7; atom" +
           release + ".global.exch.b32 %r8, [%rd1], 0; END:";
  };
  expect_clean(lock(".acquire.gpu", ".release.gpu"), four);
  EXPECT_FALSE(run_body(lock(".relaxed.gpu", ".release.gpu"), four).hazards.empty());
  EXPECT_FALSE(run_body(lock(".acquire.gpu", ".relaxed.gpu"), four).hazards.empty());
}

TEST(Races, SchedulesDoNotDecide) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    expect_race(kOther + "st.shared.u32 [%r3], %r0; ld.shared.u32 %r6, [%r5];",
                seed == 0 ? "write" : "write", "read", {.seed = seed});
  }
}

TEST(Races, MemoryOfTheShadowsIsReported) {
  EXPECT_GT(run_body("st.global.u32 [%rd2], %r0;").hazard_bytes, 4096U);
}

}  // namespace
}  // namespace bitgate::machine
