#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "reference/machine/exec/test_machine.h"

// Video instructions on chosen operands, with results worked out from the PTX ISA's pseudocode.

namespace bitgate::machine {
namespace {

struct Case {
  std::string instruction;  ///< from a in %r1, b in %r2, c in %r3, to %r4
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t expected = 0;
};

void check(const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    TestMachine machine;
    for (std::size_t t = 0; t < 32; ++t) {
      machine.in(t, 0) = test.a;
      machine.in(t, 1) = test.b;
      machine.in(t, 2) = test.c;
    }
    const Outcome outcome =
        machine.run("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1]; setp.eq.u32 %p1, %t2, 9;\n@!%p1 " +
                    test.instruction + ";\nst.global.u32 [%rd2], %r4; ret;");
    ASSERT_FALSE(outcome.fault) << test.instruction << ": " << TestMachine::describe(outcome);
    EXPECT_EQ(machine.out(5), test.expected) << test.instruction;
    EXPECT_EQ(machine.out(9), 0U) << test.instruction;
  }
}

TEST(VideoInstructions, ScalarPartsSaturationAndSecondOperations) {
  check({
      {"vadd.s32.s32.s32 %r4, %r1.b1, %r2.h1", 0x0000ff00, 0x00050000, 0, 4},
      {"vadd.s32.u32.s32 %r4, %r1.b1, %r2.h1", 0x0000ff00, 0x00050000, 0, 260},
      {"vadd.u32.u32.u32 %r4, %r1, %r2", 0xffffffff, 2, 0, 1},
      {"vadd.u32.u32.u32.sat %r4, %r1, %r2", 0xffffffff, 2, 0, 0xffffffff},
      {"vsub.u32.u32.u32.sat %r4, %r1, %r2", 1, 2, 0, 0},
      {"vsub.s32.u32.u32.sat %r4, %r1, %r2", 0, 0xffffffff, 0, 0x80000000},
      {"vadd.s32.u32.u32.sat %r4, %r1, %r2", 0x7fffffff, 1, 0, 0x7fffffff},
      {"vabsdiff.u32.s32.s32 %r4, %r1, %r2", 0xfffffffb, 3, 0, 8},
      {"vmin.s32.s32.u32 %r4, %r1.b0, %r2.b0", 0xff, 0xff, 0, 0xffffffff},
      {"vmax.u32.u32.s32 %r4, %r1.b0, %r2.b0", 0xff, 0xff, 0, 0xff},
      {"vadd.u32.u32.u32.add %r4, %r1, %r2, %r3", 1, 2, 10, 13},
      {"vadd.s32.s32.s32.min %r4, %r1, %r2, %r3", 1, 2, 0xffffffff, 0xffffffff},
      {"vadd.u32.u32.u32.min %r4, %r1, %r2, %r3", 1, 2, 0xffffffff, 3},
      {"vsub.s32.s32.s32.max %r4, %r1, %r2, %r3", 1, 2, 0xfffffffe, 0xffffffff},
      {"vadd.u32.u32.u32 %r4.b2, %r1, %r2, %r3", 0x10, 0x105, 0xaabbccdd, 0xaa15ccdd},
      // As an H200 gives them.
      {"vadd.u32.s32.s32.sat %r4.h1, %r1.h1, %r2.h0, %r3", 0x60e3fa4d, 0xb1, 0xfffffffd, 0xfffd},
      {"vadd.u32.s32.s32.min %r4, %r1.h0, %r2.h1, %r3", 0x60e3fa4d, 0xb1, 0xfffffffd, 0xfffffffd},
      {"vadd.u32.s32.s32.max %r4, %r1, %r2, %r3", 0x7fffffff, 2, 0xfb5d1291, 0x80000001},
      {"vadd.s32.s32.s32.max %r4, %r1, %r2, %r3", 0x65f7fa65, 0x79db6f7b, 1, 1},
  });
}

TEST(VideoInstructions, ShiftsMultipliesAndComparisons) {
  check({
      {"vshl.u32.u32.u32.clamp %r4, %r1, %r2", 1, 40, 0, 0},
      {"vshl.u32.u32.u32.wrap %r4, %r1, %r2", 1, 33, 0, 2},
      {"vshr.s32.s32.u32.clamp %r4, %r1, %r2", 0xfffffff8, 1, 0, 0xfffffffc},
      {"vshr.s32.s32.u32.clamp %r4, %r1, %r2", 0xfffffff8, 100, 0, 0xffffffff},
      {"vshr.u32.u32.u32.clamp %r4, %r1.h1, %r2.b3", 0x80000000, 0x0f000000, 0, 1},
      {"vshr.u32.u32.u32.wrap.add %r4, %r1, %r2, %r3", 0x80, 35, 1, 0x11},
      {"vmad.s32.s32.s32 %r4, %r1.b0, %r2.b1, %r3", 0xfe, 0x0300, 10, 4},
      {"vmad.s32.s32.s32 %r4, %r1, %r2, -%r3", 6, 7, 2, 40},
      {"vmad.s32.s32.s32 %r4, -%r1, %r2, %r3", 6, 7, 2, 0xffffffd8},
      {"vmad.u32.u32.u32.shr7 %r4, %r1.h0, %r2.b0, %r3", 300, 2, 40, 5},
      {"vmad.u32.u32.u32.shr7 %r4, %r1.h0, %r2.b0, %r3", 300, 2, 0x80000000, 0xff000004},
      {"vmad.s32.s32.s32.shr15 %r4, %r1, %r2, %r3", 0xffff0000, 0x8000, 0, 0xffff0000},
      {"vmad.u32.u32.u32.po %r4, %r1, %r2, %r3", 3, 4, 5, 18},
      {"vmad.s32.s32.s32.sat %r4, %r1, %r2, %r3", 0x10000, 0x8000, 0, 0x7fffffff},
      {"vmad.u32.u32.u32.sat %r4, %r1, %r2, %r3", 0xffffffff, 0xffffffff, 0xffffffff, 0},
      {"vset.s32.s32.lt %r4, %r1, %r2", 0xffffffff, 0, 0, 1},
      {"vset.u32.s32.lt %r4, %r1, %r2", 0xffffffff, 0, 0, 0},
      {"vset.u32.u32.ge.add %r4, %r1.b0, %r2.b1, %r3", 0x05, 0x0500, 41, 42},
      {"vset.u32.u32.ne %r4.b1, %r1, %r2, %r3", 1, 2, 0xffffffff, 0xffff01ff},
  });
}

TEST(VideoInstructions, SimdSelectsMasksAndAccumulates) {
  check({
      {"vadd4.u32.u32.u32 %r4, %r1, %r2, %r3", 0x01ff0203, 0x01010101, 0, 0x02000304},
      {"vadd4.u32.u32.u32.sat %r4, %r1, %r2, %r3", 0x01ff0203, 0x01010101, 0, 0x02ff0304},
      {"vadd4.u32.u32.u32.add %r4, %r1, %r2, %r3", 0x01ff0203, 0x01010101, 1, 0x10a},
      {"vadd4.u32.u32.u32 %r4.b0, %r1, %r2, %r3", 0x01ff0203, 0x01010101, 0xaabbccdd, 0xaabbcc04},
      {"vadd4.u32.u32.u32 %r4.b31, %r1, %r2, %r3", 0x01ff0203, 0x01010101, 0xaabbccdd, 0x02bb03dd},
      {"vadd4.u32.u32.u32 %r4, %r1.b0000, %r2, %r3", 0x01ff0203, 0x01010101, 0, 0x04040404},
      {"vadd4.u32.u32.u32 %r4, %r1.b7654, %r2.b0123, %r3", 0x01020304, 0x10203040, 0, 0x14233241},
      {"vsub2.s32.s32.s32 %r4, %r1, %r2, %r3", 0x00010002, 0x00020001, 0, 0xffff0001},
      {"vsub2.s32.s32.s32.sat %r4, %r1, %r2, %r3", 0x80007fff, 0x00018000, 0, 0x80007fff},
      {"vsub2.u32.u32.u32.sat %r4, %r1, %r2, %r3", 0x00010002, 0x00020001, 0, 0x00000001},
      {"vavrg2.s32.s32.s32 %r4, %r1, %r2, %r3", 0xfffd0003, 0xfffc0004, 0, 0xfffc0004},
      {"vavrg4.u32.u32.u32 %r4, %r1, %r2, %r3", 0xff000102, 0xff010203, 0, 0xff010203},
      {"vabsdiff4.u32.u32.u32.add %r4, %r1, %r2, %r3", 0x01020304, 0x04030201, 100, 108},
      {"vabsdiff2.u32.s32.s32 %r4, %r1, %r2, %r3", 0xffff0005, 0x00010007, 0, 0x00020002},
      {"vmin2.s32.s32.s32 %r4.h1, %r1, %r2, %r3", 0xffff0005, 0x00010007, 0x1234abcd, 0xffffabcd},
      {"vmax4.s32.s32.s32 %r4, %r1, %r2, %r3", 0xff7f0180, 0x00018002, 0, 0x007f0102},
      {"vmin2.u32.u32.u32 %r4, %r1.h01, %r2.h33, %r3", 0x00030005, 0x00040001, 0, 0x00040003},
      {"vset2.u32.u32.gt %r4, %r1, %r2, %r3", 0x00030005, 0x00040001, 0, 0x00000001},
      {"vset4.s32.s32.lt.add %r4, %r1, %r2, %r3", 0xff00ff00, 0x00000000, 5, 7},
  });
}

TEST(VideoInstructions, MalformedOnesAreUnsupported) {
  for (const char* instruction :
       {"vadd.s32.s32.s32 %r4, %r1", "vadd2.s32.s32.s32 %r4, %r1.b3210, %r2, %r3",
        "vadd4.u32.u32.u32 %r4, %r1.b10, %r2, %r3", "vset.u32.u32 %r4, %r1, %r2",
        "vadd.f32.f32.f32 %r4, %r1, %r2", "vadd.s32.s32.s32.add %r4, %r1, %r2",
        "vadd.s32.s32.s32.sat %r4.b0, %r1, %r2, %r3", "vshl.u32.u32.u32.sat.clamp %r4, %r1, %r2"}) {
    TestMachine machine;
    const Outcome outcome = machine.run(std::string(instruction) + "; ret;");
    ASSERT_TRUE(outcome.fault) << instruction;
    EXPECT_EQ(outcome.fault->kind, Fault::Kind::unsupported) << instruction;
  }
}

}  // namespace
}  // namespace bitgate::machine
