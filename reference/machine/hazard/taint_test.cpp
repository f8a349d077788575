#include "reference/machine/hazard/taint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "reference/machine/hazard/test_run.h"
#include "reference/machine/machine.h"

namespace bitgate::machine {
namespace {

using hazard::Label;
using hazard::Sink;
using hazard::Taint;
using hazard::TaintReach;

/// Runs a body with `in` (%rd1) and `out` (%rd2), zero, %rd3 = in + 4·tid, %rd4 = out + 4·tid, %r0
/// = tid, %r1 = the thread's word of `in`, which is 0, and %r2 = s + 4·tid in shared memory.
Taint watch(const std::string& body, std::uint32_t threads = 32) {
  const std::string text =
      ".version 8.3\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<8>;\n"
      ".shared .align 16 .b8 s[1024];\n"
      "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r0, %tid.x;\n"
      "mul.wide.u32 %rd5, %r0, 4; add.s64 %rd3, %rd1, %rd5; add.s64 %rd4, %rd2, %rd5;\n"
      "mov.u32 %r2, s; shl.b32 %r3, %r0, 2; add.u32 %r2, %r2, %r3; ld.global.u32 %r1, [%rd3];\n" +
      one_a_line(body) + "\nret;\n}\n";
  const Program program = Program::load(text, "test.ptx");
  GlobalMemory memory;
  const std::uint64_t addresses[2] = {memory.allocate(4096, "in"), memory.allocate(4096, "out")};
  Launch launch;
  launch.entry = "k";
  launch.block = {threads, 1, 1};
  launch.parameters.resize(16);
  std::memcpy(launch.parameters.data(), addresses, 16);
  Options options;
  options.hazards.taint = true;
  const Outcome outcome = machine::run(program, launch, memory, options);
  EXPECT_FALSE(outcome.fault) << outcome.fault->message << " at "
                              << outcome.fault->site.instruction;
  EXPECT_TRUE(outcome.hazards.empty());
  return outcome.taint;
}

std::string describe(const Taint& taint) {
  std::string text;
  for (const TaintReach& reach : taint.reaches) {
    text += std::string(name(reach.label)) + " " + std::string(name(reach.sink)) + " " +
            reach.site.instruction + (reach.own_wait_loop ? " (wait)" : "") + "\n";
  }
  return text;
}

/// One reach, or none for Sink::none.
void check(const std::string& what, const std::string& body, Label label, Sink sink) {
  SCOPED_TRACE(what);
  const Taint taint = watch(body);
  if (sink == Sink::none) {
    EXPECT_TRUE(taint.reaches.empty()) << describe(taint);
    return;
  }
  ASSERT_EQ(taint.reaches.size(), 1U) << describe(taint);
  EXPECT_EQ(taint.reaches[0].label, label) << describe(taint);
  EXPECT_EQ(taint.reaches[0].sink, sink) << describe(taint);
}

TEST(Taint, OfDataIsFoundAtEachSink) {
  const struct {
    const char* what;
    const char* tainted;  ///< %r9 is what the thread read; its twin has %r9 = 0
    Sink sink;
  } cases[] = {
      {"a value that is stored", "st.global.u32 [%rd4], %r9;", Sink::none},
      {"a branch", "setp.ne.u32 %p1, %r9, 0; @%p1 bra L; L:", Sink::branch},
      {"the guard of a store", "setp.eq.u32 %p1, %r9, 0; @%p1 st.global.u32 [%rd4], %r0;",
       Sink::guard},
      {"the guard of an exit", "setp.ne.u32 %p1, %r9, 0; @%p1 exit;", Sink::guard},
      {"the guard of a barrier", "setp.eq.u32 %p1, %r9, 0; @%p1 bar.sync 0;", Sink::guard},
      {"the address of a store",
       "cvt.u64.u32 %rd8, %r9; add.s64 %rd8, %rd4, %rd8; st.global.u32 [%rd8], %r0;",
       Sink::store_address},
      {"the address of an atomic",
       "cvt.u64.u32 %rd8, %r9; add.s64 %rd8, %rd4, %rd8; red.global.add.u32 [%rd8], %r0;",
       Sink::atomic_address},
      {"the address of a load",
       "cvt.u64.u32 %rd8, %r9; add.s64 %rd8, %rd3, %rd8; ld.global.u32 %r10, [%rd8];",
       Sink::load_address},
      {"a barrier's number", "bar.sync %r9, 32;", Sink::barrier_operand},
      {"a barrier's predicate", "setp.eq.u32 %p1, %r9, 0; bar.red.or.pred %p2, 0, %p1;",
       Sink::barrier_operand},
      {"a member mask", "or.b32 %r10, %r9, 0x80000000; not.b32 %r10, %r9; bar.warp.sync %r10;",
       Sink::mask_operand},
      {"a shuffle's lane", "shfl.sync.idx.b32 %r10, %r0, %r9, 31, -1;", Sink::shuffle_lane},
      {"what a copy reads",
       "and.b32 %r2, %r2, 0xfffffff0; and.b64 %rd3, %rd3, -16;"
       "cp.async.cg.shared.global [%r2], [%rd3], 16, %r9; cp.async.wait_all;",
       Sink::copy_size},
      {"an indirect target",
       "T: .branchtargets A, B; brx.idx %r9, T; A: B:", Sink::indirect_target},
  };
  for (const auto& c : cases) {
    check(c.what, std::string("mov.u32 %r9, %r1;") + c.tainted, Label::data, c.sink);
    check(std::string(c.what) + ", of no buffer", std::string("mov.u32 %r9, 0;") + c.tainted,
          Label::data, Sink::none);
  }
}

TEST(Taint, OfDataGoesThroughSharedMemoryAndCopies) {
  check("shared memory",
        "st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r9, [%r2];"
        "setp.ne.u32 %p1, %r9, 0; @%p1 bra L; L:",
        Label::data, Sink::branch);
  check("a copy",
        "cp.async.ca.shared.global [%r2], [%rd3], 4; cp.async.wait_all; ld.shared.u32 %r9, [%r2];"
        "setp.ne.u32 %p1, %r9, 0; @%p1 bra L; L:",
        Label::data, Sink::branch);
  check("written over",
        "st.shared.u32 [%r2], %r1; st.shared.u32 [%r2], %r0; ld.shared.u32 %r9, [%r2];"
        "setp.ne.u32 %p1, %r9, 0; @%p1 bra L; L:",
        Label::data, Sink::none);
}

TEST(Taint, LoadAddressesSayWhetherTheirBufferIsWritten) {
  const std::string gather =
      "cvt.u64.u32 %rd8, %r1; add.s64 %rd8, %rd3, %rd8; ld.global.u32 %r10, [%rd8];";
  const Taint unwritten = watch(gather + "st.global.u32 [%rd4], %r10;");
  ASSERT_EQ(unwritten.reaches.size(), 1U);
  EXPECT_TRUE(unwritten.reaches[0].only_unwritten);
  EXPECT_EQ(unwritten.reaches[0].buffers, std::vector<std::string>{"in"});
  EXPECT_EQ(unwritten.reaches[0].origin_buffer, "in");
  const Taint written = watch(gather + "st.global.u32 [%rd3], %r10;");
  ASSERT_EQ(written.reaches.size(), 1U);
  EXPECT_FALSE(written.reaches[0].only_unwritten);
}

TEST(Taint, OfTheScheduleStartsAtWhatDependsOnIt) {
  const std::string store = "st.global.u32 [%rd4], %r9;";
  const struct {
    const char* what;
    const char* made;
    bool labelled;
  } cases[] = {
      {"an atomic's result", "atom.global.add.u32 %r9, [%rd2+1024], 1;", true},
      {"an atomic in shared memory", "atom.shared.add.u32 %r9, [s], 1;", true},
      {"a relaxed load", "ld.relaxed.gpu.global.u32 %r9, [%rd2+1024];", true},
      {"an acquire load", "ld.acquire.gpu.global.u32 %r9, [%rd2+1024];", true},
      {"a volatile load", "ld.volatile.global.u32 %r9, [%rd2+1024];", true},
      {"a weak load", "ld.global.u32 %r9, [%rd2+1024];", false},
      {"the clock", "mov.u32 %r9, %clock;", true},
      {"the multiprocessor", "mov.u32 %r9, %smid;", true},
      {"the lane", "mov.u32 %r9, %laneid;", false},
      {"the active mask", "activemask.b32 %r9;", true},
      {"a ballot", "setp.gt.u32 %p1, %r0, 3; vote.sync.ballot.b32 %r9, %p1, -1;", false},
  };
  for (const auto& c : cases) {
    check(c.what, c.made + store, Label::schedule, c.labelled ? Sink::stored_value : Sink::none);
  }
}

TEST(Taint, AtomicsSayWhetherTheyCommute) {
  const Taint integers = watch("red.global.add.u32 [%rd2+1024], %r1;");
  EXPECT_TRUE(integers.reaches.empty()) << describe(integers);
  ASSERT_EQ(integers.atomics.size(), 1U);
  EXPECT_TRUE(integers.atomics[0].commutes);
  EXPECT_FALSE(integers.atomics[0].has_result);

  const Taint floats = watch("mov.b32 %f1, %r1; red.global.add.f32 [%rd2+1024], %f1;");
  ASSERT_EQ(floats.reaches.size(), 1U) << describe(floats);
  EXPECT_EQ(floats.reaches[0].sink, Sink::atomic);
  EXPECT_TRUE(floats.atomics[0].is_float);
  EXPECT_FALSE(floats.atomics[0].commutes);

  // The sum itself depends on the schedule, also where a weak load reads it.
  const Taint read = watch(
      "red.shared.add.f32 [s], 0f3F800000; bar.sync 0; ld.shared.u32 %r9, [s];"
      "setp.ne.u32 %p1, %r9, 0; @%p1 bra L; L:");
  EXPECT_TRUE(std::ranges::any_of(read.reaches, [](const TaintReach& reach) {
    return reach.label == Label::schedule && reach.sink == Sink::branch && !reach.own_wait_loop;
  })) << describe(read);
}

TEST(Taint, AThreadsOwnWaitIsTold) {
  // The host's word there is data; a thread's own is not.
  const std::string zero = "st.global.u32 [%rd2+1024], 0;";
  const Taint wait =
      watch(zero +
            "L: ld.acquire.gpu.global.u32 %r9, [%rd2+1024]; setp.ne.u32 %p1, %r9, 0; @%p1 bra L;"
            "st.global.u32 [%rd4], %r0;");
  ASSERT_EQ(wait.reaches.size(), 1U) << describe(wait);
  EXPECT_EQ(wait.reaches[0].sink, Sink::branch);
  EXPECT_TRUE(wait.reaches[0].own_wait_loop);

  const Taint counts =
      watch(zero +
            "L: ld.acquire.gpu.global.u32 %r9, [%rd2+1024]; setp.ne.u32 %p1, %r9, 0;"
            "st.global.u32 [%rd4], %r0; @%p1 bra L;");
  ASSERT_EQ(counts.reaches.size(), 1U) << describe(counts);
  EXPECT_FALSE(counts.reaches[0].own_wait_loop);

  const Taint chooses = watch(
      zero + "ld.acquire.gpu.global.u32 %r9, [%rd2+1024]; setp.ne.u32 %p1, %r9, 0; @%p1 bra L; L:");
  ASSERT_EQ(chooses.reaches.size(), 1U) << describe(chooses);
  EXPECT_FALSE(chooses.reaches[0].own_wait_loop);
}

}  // namespace
}  // namespace bitgate::machine
