#include <gtest/gtest.h>

#include <string>

#include "reference/machine/hazard/expect_race.h"
#include "reference/machine/hazard/test_run.h"

// Of accesses of 32 lanes, each the next bytes, one record says by place which lane it was; of
// lanes of one address, one mask does.

namespace bitgate::machine {
namespace {

TEST(RacesOfRuns, ShiftedRuns) {
  // Each lane's word is the next lane's as well.
  const hazard::Report report = expect_race("st.shared.u32 [%r3], %r0; ld.shared.u32 %r6, [%r3+4];",
                                            "write", "read", {.threads = 32});
  EXPECT_EQ(report.offset, 4);
  EXPECT_EQ(report.first.site.thread.x, 1U);
  EXPECT_EQ(report.second->site.thread.x, 0U);
  EXPECT_EQ(report.count, 31U);
  expect_clean("st.shared.u32 [%r3], %r0; bar.warp.sync -1; ld.shared.u32 %r6, [%r3+4];",
               {.threads = 32});
  // One instruction, in a loop, at places shifted against each other.
  expect_race(
      "mov.u32 %r6, 0; LOOP: st.shared.u32 [%r3], %r0; add.u32 %r3, %r3, 4;\n"
      "add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 3; @%p1 bra LOOP;",
      "write", "write", {.threads = 32});
  expect_clean(
      "mov.u32 %r6, 0; LOOP: ld.shared.u32 %r7, [%r3]; add.u32 %r3, %r3, 4;\n"
      "add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 3; @%p1 bra LOOP;\n"
      "bar.warp.sync -1; st.shared.u32 [%r3], %r0;",
      {.threads = 32});
}

TEST(RacesOfRuns, RunsAndSingleLanes) {
  // Lane 5 alone touches what a run gave to lane 9.
  const std::string five = "setp.eq.u32 %p1, %r0, 5;\n";
  const Case warp{.threads = 32};
  hazard::Report report = expect_race(
      five + "st.shared.u32 [%r3], %r0; @%p1 ld.shared.u32 %r6, [%r2+36];", "write", "read", warp);
  EXPECT_EQ(report.first.site.thread.x, 9U);
  EXPECT_EQ(report.second->site.thread.x, 5U);
  report = expect_race(five + "@%p1 st.shared.u32 [%r2+36], %r0; ld.shared.u32 %r6, [%r3];",
                       "write", "read", warp);
  EXPECT_EQ(report.first.site.thread.x, 5U);
  EXPECT_EQ(report.second->site.thread.x, 9U);
  expect_clean(five + "st.shared.u32 [%r3], %r0; @%p1 ld.shared.u32 %r6, [%r2+20];", warp);
  // Runs of other widths: the lanes of four words are four, those of sixteen bytes one.
  report = expect_race(
      "shl.b32 %r5, %r0, 4; add.s32 %r5, %r2, %r5;\n"
      "st.shared.u32 [%r3], %r0; ld.shared.v4.u32 {%r6,%r7,%r8,%r9}, [%r5];",
      "write", "read", warp);
  EXPECT_EQ(report.first.site.thread.x, 1U);
  EXPECT_EQ(report.second->site.thread.x, 0U);
  EXPECT_EQ(report.offset, 4);
}

TEST(RacesOfRuns, RunsThatSeveralWarpsRead) {
  // All warps read the same run; then one writes it, by a run, by lanes, and by copies.
  const std::string both = "shl.b32 %r5, %r4, 2; add.s32 %r5, %r2, %r5;\n";
  const std::string read = "ld.shared.u32 %r6, [%r5];\n";
  for (const std::string write :
       {"setp.ge.u32 %p1, %r0, 32; @%p1 bra END; st.shared.u32 [%r5], %r0; END:",
        "setp.eq.u32 %p1, %r0, 9; @%p1 st.shared.u32 [%r5], %r0;",
        "setp.eq.u32 %p1, %r0, 9; @%p1 cp.async.ca.shared.global [%r5], [%rd1], 4;\n"
        "cp.async.wait_all;"}) {
    const bool copies = write.find("cp.async") != std::string::npos;
    const Outcome outcome = run_body(both + read + write, {.threads = 128});
    ASSERT_EQ(outcome.hazards.size(), 1U) << describe(outcome);
    const hazard::Report& report = outcome.hazards.front();
    const hazard::Place& writer = report.first;
    EXPECT_EQ(hazard::name(writer.access), copies ? "async_write" : "write") << describe(outcome);
    // The lane of another warp that read the same word.
    EXPECT_EQ(writer.site.thread.x % 32, report.second->site.thread.x % 32);
    EXPECT_NE(writer.site.thread.x / 32, report.second->site.thread.x / 32);
    EXPECT_EQ(report.offset, writer.site.thread.x % 32 * 4);
    expect_clean(both + read + "bar.sync 0;\n" + write, {.threads = 128});
  }
}

TEST(RacesOfRuns, RunsOfLessThanWords) {
  const std::string half = "shl.b32 %r5, %r0, 1; add.s32 %r5, %r2, %r5; cvt.u16.u32 %h1, %r0;\n";
  const Case warp{.threads = 32};
  // The word is of two lanes, its own and another.
  hazard::Report report = expect_race(
      half + "st.shared.u16 [%r5], %h1; setp.eq.u32 %p1, %r0, 6; @%p1 ld.shared.u32 %r6, [%r2+12];",
      "write", "read", warp);
  EXPECT_EQ(report.first.site.thread.x, 7U);
  EXPECT_EQ(report.second->site.thread.x, 6U);
  EXPECT_EQ(report.offset, 14);
  // Bytes of a run of words.
  report = expect_race(
      "st.shared.u32 [%r3], %r0; setp.eq.u32 %p1, %r0, 6; @%p1 st.shared.u8 [%r2+30], %r0;",
      "write", "write", warp);
  EXPECT_EQ(report.first.site.thread.x, 7U);
  EXPECT_EQ(report.offset, 30);
  expect_clean(
      half + "st.shared.u16 [%r5], %h1; ld.shared.u16 %h1, [%r5]; st.shared.u16 [%r5], %h1;", warp);
  expect_clean("st.shared.u32 [%r3], %r0; ld.shared.u8 %r6, [%r3+1]; st.shared.u32 [%r3], %r0;",
               warp);
}

TEST(RacesOfRuns, RunsThatWriteOneValue) {
  const std::string both = "shl.b32 %r5, %r4, 2; add.s32 %r5, %r2, %r5;\n";
  EXPECT_TRUE(expect_race(both + "st.shared.u32 [%r5], %r4;", "write", "write").same_value);
  EXPECT_FALSE(expect_race(both + "st.shared.u32 [%r5], %r0;", "write", "write").same_value);
}

TEST(RacesOfRuns, LanesOfOneAddress) {
  // Lanes 4i to 4i + 3 read word i; lane i wrote it.
  const std::string quarter = "shr.u32 %r5, %r4, 2; shl.b32 %r5, %r5, 2; add.s32 %r5, %r2, %r5;\n";
  const Case warp{.threads = 32};
  const hazard::Report report = expect_race(
      quarter + "st.shared.u32 [%r3], %r0; ld.shared.u32 %r6, [%r5];", "write", "read", warp);
  EXPECT_EQ(report.first.site.thread.x, 0U);
  EXPECT_EQ(report.second->site.thread.x, 1U);
  EXPECT_EQ(report.count, 31U);
  expect_clean(quarter + "st.shared.u32 [%r3], %r0; bar.warp.sync -1; ld.shared.u32 %r6, [%r5];",
               warp);
  expect_race(quarter + "ld.shared.u32 %r6, [%r5]; st.shared.u32 [%r3], %r0;", "write", "read",
              warp);
  // All of one word.
  const hazard::Report one = expect_race(
      "setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [%r2], %r0; ld.shared.u32 %r6, [%r2];", "write",
      "read", warp);
  EXPECT_EQ(one.first.site.thread.x, 0U);
  EXPECT_EQ(one.second->site.thread.x, 1U);
}

}  // namespace
}  // namespace bitgate::machine
