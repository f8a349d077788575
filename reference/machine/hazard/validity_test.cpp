#include "reference/machine/hazard/validity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "reference/machine/hazard/test_run.h"
#include "reference/machine/machine.h"
#include "reference/support/random.h"

namespace bitgate::machine {
namespace {

using hazard::Report;

/// Runs a body with `in` (%rd1: 4096 defined bytes), `raw` (%rd2: 4096 undefined ones) and `out`
/// (%rd3: an output of 4096 bytes that the host defined), each at the thread's own 4·tid: %rd4,
/// %rd5 and %rd6. %r0 = tid, %r1 is never written, %r2 = s + 4·tid of shared memory (2048 bytes).
class Watched {
 public:
  explicit Watched(std::uint32_t threads = 32) : threads_(threads) {}

  std::vector<Report> run(const std::string& body, bool out_is_undefined = false) {
    const std::string text =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 raw, .param .u64 out)\n{\n"
        ".reg .pred %p<8>; .reg .b32 %r<48>; .reg .b64 %rd<16>; .reg .b16 %h<8>; .reg .f32 "
        "%f<32>;\n"
        ".shared .align 16 .b8 s[2048];\n"
        "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [raw]; ld.param.u64 %rd3, [out];\n"
        "mov.u32 %r0, %tid.x; mul.wide.u32 %rd7, %r0, 4; add.s64 %rd4, %rd1, %rd7;\n"
        "add.s64 %rd5, %rd2, %rd7; add.s64 %rd6, %rd3, %rd7; mov.u32 %r2, s;\n"
        "shl.b32 %r3, %r0, 2; add.s32 %r2, %r2, %r3;\n" +
        one_a_line(body) + "\nret;\n}\n";
    const Program program = Program::load(text, "test.ptx");
    GlobalMemory memory;
    const std::uint64_t addresses[3] = {memory.allocate(4096, "in"), memory.allocate(4096, "raw"),
                                        memory.allocate(4096, "out")};
    memory.set_undefined(addresses[1], 4096);
    if (out_is_undefined) memory.set_undefined(addresses[2], 4096);
    memory.set_output(addresses[2]);
    Launch launch;
    launch.entry = "k";
    launch.block = {threads_, 1, 1};
    launch.parameters.resize(24);
    std::memcpy(launch.parameters.data(), addresses, 24);
    Options options;
    options.hazards.validity = true;
    const Outcome outcome = machine::run(program, launch, memory, options);
    EXPECT_FALSE(outcome.fault) << outcome.fault->message << " at "
                                << outcome.fault->site.instruction;
    std::vector<Report> reports = outcome.hazards;
    for (Report& report : hazard::undefined_outputs(memory)) reports.push_back(std::move(report));
    return reports;
  }

 private:
  std::uint32_t threads_;
};

std::string describe(const std::vector<Report>& reports) {
  std::string text;
  for (const Report& report : reports) {
    text += report.space + " " + report.buffer + "+" + std::to_string(report.offset) + ": " +
            report.first.site.instruction +
            (report.second ? " | " + report.second->site.instruction : "") + " (" + report.message +
            ")\n";
  }
  return text;
}

/// A body with a defect, where it matters ("" when it must be clean).
struct Body {
  const char* name;
  std::string text;
  std::string first;   ///< begins so
  std::string second;  ///< begins so
};

void check(const Body& body, std::uint32_t threads = 32) {
  SCOPED_TRACE(body.name);
  const std::vector<Report> reports = Watched(threads).run(body.text);
  if (body.second.empty()) {
    EXPECT_TRUE(reports.empty()) << describe(reports);
    return;
  }
  ASSERT_EQ(reports.size(), 1U) << describe(reports);
  EXPECT_EQ(reports[0].kind, hazard::Kind::uninitialised);
  EXPECT_TRUE(reports[0].first.site.instruction.starts_with(body.first)) << describe(reports);
  ASSERT_TRUE(reports[0].second);
  EXPECT_TRUE(reports[0].second->site.instruction.starts_with(body.second)) << describe(reports);
}

const std::string kStore = "st.global.u32 [%rd6], %r9;";

TEST(Validity, MattersInBranchesAddressesOperandsAndOutputs) {
  const std::string load = "ld.global.u32 %r8, [%rd5];";
  const std::string defined = "ld.global.u32 %r8, [%rd4];";
  const Body bodies[] = {
      {"branch", load + "setp.gt.u32 %p1, %r8, 7; @%p1 bra DONE; DONE:", "ld.global", "@%p1 bra"},
      {"branch, defined", defined + "setp.gt.u32 %p1, %r8, 7; @%p1 bra DONE; DONE:", "", ""},
      {"guard of a store", load + "setp.gt.u32 %p1, %r8, 7; @%p1 st.global.u32 [%rd6], %r0;",
       "ld.global", "@%p1 st"},
      {"guard of an addition, not stored",
       load + "setp.gt.u32 %p1, %r8, 7; @%p1 add.u32 %r9, %r0, 1;", "", ""},
      {"guard of an addition, stored",
       load + "mov.u32 %r9, 0; setp.gt.u32 %p1, %r8, 7; @%p1 add.u32 %r9, %r0, 1;" + kStore,
       "ld.global", "st.global"},
      {"address of a load",
       load + "and.b32 %r8, %r8, 4; cvt.u64.u32 %rd8, %r8; add.s64 %rd8, %rd1, %rd8;"
              "ld.global.u32 %r9, [%rd8];",
       "ld.global.u32 %r8", "ld.global.u32 %r9"},
      {"copied and not used", load + "st.shared.u32 [%r2], %r8; ld.shared.u32 %r9, [%r2];", "", ""},
      {"copied through shared memory to an output",
       load + "st.shared.u32 [%r2], %r8; ld.shared.u32 %r9, [%r2];" + kStore, "ld.global",
       "st.global"},
      {"shared memory", "ld.shared.u32 %r9, [%r2];" + kStore, "ld.shared", "st.global"},
      {"shared memory, written", "st.shared.u32 [%r2], %r0; ld.shared.u32 %r9, [%r2];" + kStore, "",
       ""},
      {"a register", "add.u32 %r9, %r1, 1;" + kStore, "add.u32", "st.global"},
      {"a mask",
       load + "and.b32 %r8, %r8, 1; sub.u32 %r8, %r8, 1; or.b32 %r8, %r8, -1;"
              "bar.warp.sync %r8;",
       "", ""},
      {"a barrier's number", load + "and.b32 %r8, %r8, 1; bar.sync %r8, 32;", "ld.global",
       "bar.sync"},
      {"stored, then written over", load + "st.global.u32 [%rd6], %r8; st.global.u32 [%rd6], %r0;",
       "", ""},
  };
  for (const Body& body : bodies) check(body);
}

TEST(Validity, IsByTheBit) {
  // %r8: bytes 0 and 2 of it are undefined.
  const std::string half =
      "ld.global.u8 %r8, [%rd5]; ld.global.u8 %r7, [%rd4]; prmt.b32 %r8, %r8, %r7, 0x4040;";
  const Body bodies[] = {
      {"and", half + "and.b32 %r9, %r8, 0xff00ff00;" + kStore, "", ""},
      {"and, one bit more", half + "and.b32 %r9, %r8, 0xff00ff01;" + kStore, "ld.global",
       "st.global"},
      {"or", half + "or.b32 %r9, %r8, 0x00ff00ff;" + kStore, "", ""},
      {"or, one bit less", half + "or.b32 %r9, %r8, 0x00ff00fe;" + kStore, "ld.global",
       "st.global"},
      {"shift left", half + "shl.b32 %r9, %r8, 16; and.b32 %r9, %r9, 0xff00ffff;" + kStore, "", ""},
      {"shift left, kept", half + "shl.b32 %r9, %r8, 16; and.b32 %r9, %r9, 0x00ff0000;" + kStore,
       "ld.global", "st.global"},
      {"shift right", half + "shr.u32 %r9, %r8, 24;" + kStore, "", ""},
      {"shift right, signed", half + "shl.b32 %r9, %r8, 8; shr.s32 %r9, %r9, 24;" + kStore,
       "ld.global", "st.global"},
      {"lop3 (a & b) | c", half + "lop3.b32 %r9, %r8, 0xff00ff00, 0x64006400, 0xea;" + kStore, "",
       ""},
      {"lop3 a ^ b", half + "lop3.b32 %r9, %r8, 0xff00ff00, 0, 0x3c;" + kStore, "ld.global",
       "st.global"},
      {"prmt", half + "prmt.b32 %r9, %r8, 0, 0x3131;" + kStore, "", ""},
      {"prmt, another byte", half + "prmt.b32 %r9, %r8, 0, 0x3130;" + kStore, "ld.global",
       "st.global"},
      {"bfe", half + "bfe.u32 %r9, %r8, 8, 8;" + kStore, "", ""},
      {"bfe, a bit beyond", half + "bfe.u32 %r9, %r8, 8, 9;" + kStore, "ld.global", "st.global"},
      {"bfi over it", half + "bfi.b32 %r9, %r0, %r8, 0, 8; shl.b32 %r9, %r9, 16;" + kStore, "", ""},
      {"add keeps the low bits",
       half +
           "shl.b32 %r8, %r8, 8; add.u32 %r9, %r8, 5;"
           "and.b32 %r9, %r9, 0xff;" +
           kStore,
       "", ""},
      {"add carries upwards", half + "add.u32 %r9, %r8, 5; shr.u32 %r9, %r9, 24;" + kStore,
       "ld.global", "st.global"},
      {"mov of parts",
       half + "mov.b32 {%h1, %h2}, %r8; shr.u16 %h1, %h1, 8; cvt.u32.u16 %r9, %h1;" + kStore, "",
       ""},
      {"selp of the other",
       half + "setp.eq.u32 %p1, %r0, %r0; selp.b32 %r9, %r0, %r8, %p1;" + kStore, "", ""},
      {"selp of it", half + "setp.eq.u32 %p1, %r0, %r0; selp.b32 %r9, %r8, %r0, %p1;" + kStore,
       "ld.global", "st.global"},
      {"a half of f16x2",
       "ld.global.u16 %h1, [%rd5]; mov.b32 %r8, {%h1, %h2};"
       "ld.global.u32 %r7, [%rd4]; prmt.b32 %r8, %r8, %r7, 0x5410;"
       "add.rn.f16x2 %r9, %r8, %r7; shr.u32 %r9, %r9, 16;" +
           kStore,
       "", ""},
      {"and of predicates",
       half + "setp.gt.u32 %p1, %r8, 3; setp.ne.u32 %p2, %r0, %r0;"
              "and.pred %p3, %p1, %p2; @%p3 bra OUT; OUT:",
       "", ""},
      {"and of predicates, true",
       half + "setp.gt.u32 %p1, %r8, 3; setp.eq.u32 %p2, %r0, %r0;"
              "and.pred %p3, %p1, %p2; @%p3 bra OUT; OUT:",
       "ld.global", "@%p3 bra"},
  };
  for (const Body& body : bodies) check(body);
}

TEST(Validity, GoesBetweenLanes) {
  // Lanes below 16 have a defined value in %r8.
  const std::string low = "setp.lt.u32 %p1, %r0, 16; @%p1 mov.u32 %r8, 1;";
  const Body bodies[] = {
      {"shuffle from a defined lane", low + "shfl.sync.idx.b32 %r9, %r8, 3, 31, -1;" + kStore, "",
       ""},
      {"shuffle from another", low + "shfl.sync.idx.b32 %r9, %r8, 20, 31, -1;" + kStore, "shfl",
       "st.global"},
      {"ballot of defined lanes",
       low +
           "setp.gt.u32 %p2, %r8, 3; vote.sync.ballot.b32 %r9, %p2, -1;"
           "and.b32 %r9, %r9, 0xffff;" +
           kStore,
       "", ""},
      {"shuffle from an undefined lane",
       low +
           "st.shared.u32 [%r2], %r0;"
           "shfl.sync.idx.b32 %r9, %r0, %r8, 31, -1;" +
           kStore,
       "shfl", "st.global"},
      {"an undefined mask",
       "or.b32 %r8, %r1, -2; add.u32 %r8, %r8, 1; shfl.sync.idx.b32 %r9, %r0, 3, 31, %r8;" + kStore,
       "or.b32", "shfl"},
      {"redux of all", low + "redux.sync.add.u32 %r9, %r8, -1;" + kStore, "redux", "st.global"},
  };
  for (const Body& body : bodies) check(body);
}

/// A 16 x 16 times 16 x 8: shared memory holds A in rows of 32 bytes; row `skipped` is not written.
std::string product(int skipped, const std::string& stored) {
  return "mul.lo.u32 %r10, %r0, 16; mov.u32 %r11, s; add.u32 %r10, %r10, %r11;\n"  // row of 16 B
         "shr.u32 %r12, %r0, 1; setp.ne.u32 %p1, %r12, " +
         std::to_string(skipped) +
         ";\n"
         "@%p1 st.shared.v4.u32 [%r10], {%r0, %r0, %r0, %r0};\n"
         "bar.sync 0;\n"
         // Lane l: row l % 16, half l / 16.
         "and.b32 %r13, %r0, 15; shl.b32 %r13, %r13, 5; shr.u32 %r14, %r0, 4; shl.b32 %r14, %r14, "
         "4;\n"
         "add.u32 %r13, %r13, %r14; add.u32 %r13, %r13, %r11;\n"
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r13];\n"
         "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5, %f6, %f7, %f8}, "
         "{%r20, %r21, %r22, %r23}, {%r0, %r0}, {%f1, %f2, %f3, %f4};\n" +
         stored;
}

TEST(Validity, GoesThroughMmaByRowAndColumn) {
  // Rows 0 to 7 are in %f5 and %f6, row l / 4 in lane l.
  const std::string rows = "setp.lt.u32 %p2, %r0, 28; @%p2 st.global.f32 [%rd6], %f5;";
  check({"row 7 is undefined and not stored", product(7, rows), "", ""});
  check({"row 6 is undefined and stored", product(6, rows), "ldmatrix", "@%p2 st.global"});
  check({"row 12 is undefined", product(12, "st.global.f32 [%rd6], %f5;"), "", ""});
  check({"row 12 is undefined and stored", product(12, "st.global.f32 [%rd6], %f7;"), "ldmatrix",
         "st.global"});
}

TEST(Validity, WmmaIsByTheElementToo) {
  const auto body = [](int skipped, const std::string& after) {
    return "mul.lo.u32 %r10, %r0, 16; mov.u32 %r11, s; add.u32 %r10, %r10, %r11;\n"
           "shr.u32 %r12, %r0, 1; setp.ne.u32 %p1, %r12, " +
           std::to_string(skipped) +
           ";\n"
           "@%p1 st.shared.v4.u32 [%r10], {%r0, %r0, %r0, %r0}; bar.sync 0;\n"
           "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r20,%r21,%r22,%r23,%r24,%r25,%r26,"
           "%r27}, [%r11], 16;\n"
           "mov.f32 %f1, 0f00000000;\n"
           "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f2,%f3,%f4,%f5,%f6,%f7,%f8,%f9}, "
           "{%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}, {%r0,%r0,%r0,%r0,%r0,%r0,%r0,%r0}, "
           "{%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1};\n"
           "bar.sync 0;\n"
           "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r11], "
           "{%f2,%f3,%f4,%f5,%f6,%f7,%f8,%f9}, 16;\n"
           "bar.sync 0; mul.lo.u32 %r30, %r0, 8; add.u32 %r30, %r30, %r11;\n" +
           after;
  };
  // Two lanes of 8 bytes a row of 64 bytes and four rows a load: row 15 begins at byte 960.
  const std::string rows_0_to_3 = "ld.shared.u32 %r9, [%r30];" + kStore;
  const std::string row_15 =
      "and.b32 %r30, %r30, 0; mov.u32 %r30, s; ld.shared.u32 %r9, "
      "[%r30+960];" +
      kStore;
  check({"row 15 is undefined", body(15, rows_0_to_3), "", ""});
  check({"row 15 is undefined and stored", body(15, row_15), "wmma.load", "st.global"});
  check({"row 1 is undefined and stored", body(1, rows_0_to_3), "wmma.load", "st.global"});
}

TEST(Validity, CopiesOnTheirOwnCarryIt) {
  const std::string copy =
      "shl.b32 %r10, %r0, 4; mov.u32 %r11, s; add.u32 %r10, %r10, %r11; mul.wide.u32 %rd8, %r0, 16;"
      "add.s64 %rd9, %rd8, %rd1; add.s64 %rd10, %rd8, %rd2;";
  const std::string wait =
      "cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r9, [%r10+12];" + kStore;
  check({"defined", copy + "cp.async.cg.shared.global [%r10], [%rd9], 16;" + wait, "", ""});
  check({"undefined", copy + "cp.async.cg.shared.global [%r10], [%rd10], 16;" + wait, "cp.async",
         "st.global"});
  check(
      {"zero-filled", copy + "cp.async.cg.shared.global [%r10], [%rd10], 16, 12;" + wait, "", ""});
}

TEST(Validity, GoesThroughLocalMemoryAndCalls) {
  const std::string local = ".local .align 4 .b8 mine[8]; mov.u64 %rd8, mine; ";
  check({"local, not written", local + "ld.local.u32 %r9, [mine];" + kStore, "ld.local",
         "st.global"});
  check({"local, written", local + "st.local.u32 [mine], %r0; ld.local.u32 %r9, [mine];" + kStore,
         "", ""});
}

/// Registers start without labels where every way to a read writes them: the others are found.
TEST(Validity, ARegisterThatSomeThreadsOrWaysDoNotWriteIsFound) {
  const std::string low = "setp.lt.u32 %p1, %r0, 16; ";
  const Body bodies[] = {
      {"written on one way only", low + "@%p1 bra A; mov.u32 %r9, 1; A:\n" + kStore, "st.global",
       "st.global"},
      {"written on both",
       low + "@%p1 bra A; mov.u32 %r9, 1; bra B; A: mov.u32 %r9, 2; B:\n" + kStore, "", ""},
      {"a way that no thread takes",
       "setp.gt.u32 %p1, %r0, 99; @%p1 bra A; mov.u32 %r9, 1; A:\n" + kStore, "", ""},
      {"written under a guard", low + "@%p1 mov.u32 %r9, 1;" + kStore, "st.global", "st.global"},
      {"read where the guard held", low + "@%p1 mov.u32 %r9, 1; @%p1 " + kStore, "", ""},
      {"written by the threads that stay", low + "@%p1 exit; mov.u32 %r9, 1;" + kStore, "", ""},
      {"written by those that left", low + "@!%p1 bra A; mov.u32 %r9, 1; exit; A:\n" + kStore,
       "st.global", "st.global"},
      {"in the second round of a loop",
       "mov.u32 %r10, 0; TOP:\n" + kStore +
           "mov.u32 %r9, 1; add.u32 %r10, %r10, 1; add.s64 %rd6, %rd6, 128;"
           "setp.lt.u32 %p1, %r10, 2; @%p1 bra TOP;",
       "st.global", "st.global"},
      {"by an indexed branch",
       "T: .branchtargets A, B; shr.u32 %r10, %r0, 4; brx.idx %r10, T; A: mov.u32 %r9, 1; B:\n" +
           kStore,
       "st.global", "st.global"},
      {"a carry that nobody made", "addc.u32 %r9, %r0, 0;" + kStore, "addc", "st.global"},
      {"a carry", "add.cc.u32 %r8, %r0, 1; addc.u32 %r9, %r0, 0;" + kStore, "", ""},
  };
  for (const Body& body : bodies) check(body);
}

/// A body of random instructions on %r8 to %r13, %p1 and %p2, with branches forwards.
std::string random_body(std::uint64_t seed) {
  Random random(seed, "validity");
  const auto reg = [&] { return "%r" + std::to_string(8 + random.below(6)); };
  const auto predicate = [&] { return "%p" + std::to_string(1 + random.below(2)); };
  constexpr std::uint64_t kInstructions = 40;
  std::string body;
  for (std::uint64_t i = 0; i < kInstructions; ++i) {
    body += "L" + std::to_string(i) + ":\n";
    if (random.chance(0.25)) body += (random.chance(0.5) ? "@" : "@!") + predicate() + " ";
    switch (random.below(10)) {
      case 0:
        body += "bra L" + std::to_string(i + 1 + random.below(kInstructions - i)) + ";";
        break;
      case 1:
        body += "setp.gt.u32 " + predicate() + ", " + reg() + ", %r0;";
        break;
      case 2:
        body += "ld.global.u8 " + reg() + ", [%rd5];";
        break;
      case 3:
        body +=
            "st.global.u32 [%rd6+" + std::to_string(128 * random.below(30)) + "], " + reg() + ";";
        break;
      case 4:
        body += "and.b32 " + reg() + ", " + reg() + ", " + reg() + ";";
        break;
      case 5:
        body += "selp.b32 " + reg() + ", " + reg() + ", " + reg() + ", " + predicate() + ";";
        break;
      case 6:
        body += "st.shared.u32 [%r2], " + reg() + ";";
        break;
      case 7:
        body += "ld.shared.u32 " + reg() + ", [%r2];";
        break;
      case 8:
        body += "add.u32 " + reg() + ", " + reg() + ", %r0;";
        break;
      default:
        body += "mov.u32 " + reg() + ", " + std::to_string(random.below(64)) + ";";
        break;
    }
  }
  return body + "L40:\n";
}

/// A way that no thread takes and that reads all registers gives all of them their labels at first.
TEST(Validity, RegistersThatStartWithoutLabelsChangeNoReport) {
  std::string reads;
  for (int i = 8; i < 14; ++i) reads += "st.global.u32 [%rd3], %r" + std::to_string(i) + ";";
  for (int i = 1; i < 3; ++i) reads += "@%p" + std::to_string(i) + " st.global.u32 [%rd3], %r0;";
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const std::string body = random_body(seed);
    const std::vector<Report> some = Watched(40).run(body);
    const std::vector<Report> all = Watched(40).run("setp.gt.u32 %p3, %r0, 99; @%p3 bra NEVER;" +
                                                    body + "bra END; NEVER:\n" + reads + "END:\n");
    ASSERT_EQ(describe(some), describe(all)) << "seed " << seed << "\n" << body;
    found += some.size();
  }
  EXPECT_GT(found, 300U);
}

TEST(Validity, AReductionIntoUndefinedMemoryLeavesItsOperandAsItIs) {
  check({"red",
         "mov.u32 %r8, %r0; red.global.add.u32 [%rd5], %r8; setp.lt.u32 %p1, %r0, 16;"
         "@%p1 add.u32 %r8, %r1, 1; @!%p1 st.global.u32 [%rd6], %r8;",
         "", ""});
}

TEST(Validity, AsksForAllOfAnOutput) {
  Watched all(1024);
  EXPECT_TRUE(all.run("st.global.u32 [%rd6], %r0;", true).empty());
  const std::vector<Report> reports =
      Watched(1024).run("setp.lt.u32 %p1, %r0, 1000; @%p1 st.global.u32 [%rd6], %r0;", true);
  ASSERT_EQ(reports.size(), 1U) << describe(reports);
  EXPECT_EQ(reports[0].buffer, "out");
  EXPECT_EQ(reports[0].offset, 4000);
  EXPECT_EQ(reports[0].bytes, 96U);
  EXPECT_FALSE(reports[0].second);
}

TEST(Validity, ExitedAndAbsentLanesDoNotMatter) {
  check({"a warp of 20 threads",
         "mov.u32 %r9, 1; setp.gt.u32 %p1, %r9, %r0; @%p1 bra L; L:" + kStore, "", ""},
        20);
  check({"lanes that left",
         "setp.gt.u32 %p1, %r0, 9; @%p1 exit; mov.u32 %r9, 1; setp.eq.u32 %p2, %r9, 1;"
         "@%p2 bra L; L:" +
             kStore,
         "", ""});
}

}  // namespace
}  // namespace bitgate::machine
