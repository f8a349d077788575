#include <gtest/gtest.h>

#include <string>

#include "reference/machine/hazard/test_run.h"

// Barriers, exited threads, and waits that never end.

namespace bitgate::machine {
namespace {

void expect_clean(const std::string& body, const Case& c = {}) {
  const Outcome outcome = run_body(body, c);
  EXPECT_TRUE(outcome.hazards.empty() && !outcome.fault) << describe(outcome);
}

hazard::Report expect_one(hazard::Kind kind, const std::string& body, const Case& c = {}) {
  const Outcome outcome = run_body(body, c);
  EXPECT_EQ(outcome.hazards.size(), 1U) << describe(outcome);
  if (outcome.hazards.size() != 1) return {};
  EXPECT_EQ(outcome.hazards.front().kind, kind) << describe(outcome);
  return outcome.hazards.front();
}

const std::string kHalf = "setp.lt.u32 %p1, %r4, 16;\n";

TEST(Barriers, SomeLanesGoAround) {
  const std::string after = "\nst.global.u32 [%rd2], %r0;";
  const hazard::Report report =
      expect_one(hazard::Kind::barrier,
                 kHalf + "@!%p1 bra AFTER; mov.u32 %r6, 1; bar.sync 0;\nAFTER:" + after);
  EXPECT_EQ(report.first.site.instruction.substr(0, 8), "bar.sync");
  ASSERT_TRUE(report.second.has_value());
  EXPECT_GE(report.second->site.thread.x % 32, 16U);
  // Through a guard, and by whole warps.
  expect_one(hazard::Kind::barrier, kHalf + "@%p1 bar.sync 0;" + after);
  expect_one(
      hazard::Kind::barrier,
      "setp.lt.u32 %p1, %r0, 32;\n@!%p1 bra AFTER; mov.u32 %r6, 1; bar.sync 0;\nAFTER:" + after);
  expect_clean(kHalf + "@!%p1 bra AFTER; mov.u32 %r6, 1;\nAFTER: bar.sync 0;" + after);
}

TEST(Barriers, WhoReturnsEarlyIsRight) {
  // Measured on an H200: exited threads satisfy a barrier of all threads.
  expect_clean(kHalf + "@!%p1 bra END; bar.sync 0; st.global.u32 [%rd2], %r0;\nEND:");
  expect_clean(kHalf + "@!%p1 ret; bar.sync 0; st.global.u32 [%rd2], %r0;");
  expect_clean("setp.lt.u32 %p1, %r0, 32; @!%p1 ret; bar.sync 0; st.global.u32 [%rd2], %r0;");
  // They do not satisfy one that counts.
  const hazard::Report report =
      expect_one(hazard::Kind::deadlock, "setp.lt.u32 %p1, %r0, 32; @!%p1 ret; bar.sync 0, 64;");
  EXPECT_EQ(report.first.site.instruction.substr(0, 8), "bar.sync");
}

TEST(Barriers, LoopsAreNoWayAround) {
  // Warps pass the barrier at different times.
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    expect_clean(
        "mov.u32 %r6, 0;\nLOOP: setp.ge.u32 %p1, %r6, 5; @%p1 bra END;\n"
        "and.b32 %r7, %r6, 1; setp.eq.u32 %p2, %r7, 0; @%p2 bra NEXT; bar.sync 0;\n"
        "NEXT: add.u32 %r6, %r6, 1; bra LOOP;\nEND: st.global.u32 [%rd2], %r6;",
        {.threads = 128, .seed = seed});
  }
}

TEST(Barriers, AlignedOnesAreOneInstruction) {
  const auto both = [](const std::string& barrier) {
    return kHalf + "@%p1 bra ONE; " + barrier + " bra END;\nONE: " + barrier +
           "\nEND: add.u32 %r6, %r0, 1;";
  };
  const hazard::Report report = expect_one(hazard::Kind::barrier, both("bar.sync 0;"));
  ASSERT_TRUE(report.second.has_value());
  EXPECT_NE(report.first.site.ptx_line, 0U);
  expect_one(hazard::Kind::barrier, both("barrier.sync.aligned 0;"));
  expect_clean(both("barrier.sync 0;"));
  // Warps of one barrier may be at different instructions.
  expect_clean(
      "setp.lt.u32 %p1, %r0, 32; @%p1 bra ONE; bar.sync 0; bra END;\nONE: bar.sync 0;\n"
      "END: add.u32 %r6, %r0, 1;");
}

TEST(Barriers, CountsMustAgree) {
  const std::string two = "setp.lt.u32 %p1, %r0, 32; @%p1 bra ONE; bar.sync 1, 64; bra END;\nONE: ";
  const hazard::Report report =
      expect_one(hazard::Kind::barrier, two + "bar.sync 1, 96; END:", {.threads = 96});
  EXPECT_TRUE(report.second.has_value());
  expect_clean(two + "bar.sync 1, 64; END:");
}

TEST(Barriers, MasksAndShufflesNameLanesThatAreThere) {
  expect_one(hazard::Kind::inactive_lane, "shfl.sync.idx.b32 %r6, %r0, 0, 31, 0xfffffffe;",
             {.threads = 32});
  expect_one(
      hazard::Kind::inactive_lane,
      kHalf + "@!%p1 bra END; shfl.sync.bfly.b32 %r6, %r0, 16, 31, 0xffff;\nEND:", {.threads = 32});
  expect_clean(kHalf + "@!%p1 bra END; shfl.sync.bfly.b32 %r6, %r0, 8, 31, 0xffff;\nEND:",
               {.threads = 32});
  // Lanes that stand at the block's barrier never come.
  expect_one(hazard::Kind::deadlock,
             kHalf + "@!%p1 bra REST; shfl.sync.idx.b32 %r6, %r0, 0, 31, -1;\nREST: bar.sync 0;",
             {.threads = 32});
}

TEST(Waits, ASpinThatNothingEnds) {
  const std::string spin =
      "SPIN: ld.volatile.global.u32 %r6, [%rd1]; setp.eq.u32 %p1, %r6, 0; @%p1 bra SPIN;\n";
  const hazard::Report report = expect_one(hazard::Kind::deadlock, spin);
  EXPECT_NE(report.message.find("spin at"), std::string::npos) << report.message;
  // Attempts that fail change nothing either.
  expect_one(
      hazard::Kind::deadlock,
      "mov.u32 %r6, 1; st.volatile.global.u32 [%rd1], %r6; bar.sync 0;\n"
      "LOCK: atom.global.cas.b32 %r7, [%rd1], 0, 1; setp.ne.u32 %p1, %r7, 0; @%p1 bra LOCK;");
  // Block 1 would end it, and finds no room.
  const std::string other =
      "setp.ne.u32 %p2, %r1, 0; @%p2 bra SET;\n" + spin +
      "bra END;\nSET: mov.u32 %r7, 1; st.volatile.global.u32 [%rd1], %r7;\nEND:";
  const hazard::Report alone =
      expect_one(hazard::Kind::deadlock, other, {.blocks = 2, .threads = 32, .resident_blocks = 1});
  EXPECT_NE(alone.message.find("1 of 2 blocks have not started"), std::string::npos)
      << alone.message;
  expect_clean(other, {.blocks = 2, .threads = 32});
}

TEST(Waits, WhatGoesOnIsNone) {
  // A long count in registers, and one that ends by the clock.
  expect_clean(
      "mov.u32 %r6, 0;\nLOOP: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 1500000;\n"
      "@%p1 bra LOOP;",
      {.threads = 32});
  expect_one(hazard::Kind::timeout,
             "LOOP: mov.u32 %r6, %clock; setp.ne.u32 %p1, %r6, 1; @%p1 bra LOOP;",
             {.threads = 32, .time_limit = std::chrono::milliseconds(200)});
}

}  // namespace
}  // namespace bitgate::machine
