#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reference/machine/exec/instruction_cases.h"
#include "reference/machine/exec/nan.h"

// One instruction at a time on chosen operands, with results from the PTX ISA and h200-bits.

namespace bitgate::machine {
namespace {

TEST(IntegerInstructions, WrapDivideAndSaturate) {
  check({
      {"add.s32", "www", {0x7fffffff, 1}, 0x80000000},
      {"add.sat.s32", "www", {0x7fffffff, 1}, 0x7fffffff},
      {"sub.sat.s32", "www", {0x80000000, 1}, 0x80000000},
      {"sub.u64", "ddd", {0, 1}, 0xffffffffffffffff},
      {"add.u16", "hhh", {0xffff, 2}, 1},
      {"mul.lo.s32", "www", {0xffffffff, 7}, 0xfffffff9},
      {"mul.hi.s32", "www", {0x80000000, 0x80000000}, 0x40000000},
      {"mul.hi.u32", "www", {0xffffffff, 0xffffffff}, 0xfffffffe},
      {"mul.hi.s64", "ddd", {0x8000000000000000, 0x8000000000000000}, 0x4000000000000000},
      {"mul.hi.u64", "ddd", {0xffffffffffffffff, 2}, 1},
      {"mul.wide.s16", "whh", {0xffff, 0x8000}, 0x8000},
      {"mul.wide.s32", "dww", {0xffffffff, 3}, 0xfffffffffffffffd},
      {"mul.wide.u32", "dww", {0xffffffff, 3}, 0x2fffffffd},
      {"mad.wide.u32", "dwwd", {0xffffffff, 0xffffffff, 1}, 0xfffffffe00000002},
      {"mad.lo.s32", "wwww", {5, 6, 0xffffffff}, 29},
      {"mad.hi.sat.s32", "wwww", {0x7fffffff, 0x7fffffff, 0x7fffffff}, 0x7fffffff},
      {"mul24.lo.u32", "www", {0xff000003, 0x01000002}, 6},
      {"mul24.hi.s32", "www", {0x00800000, 0x00800000}, 0x40000000},
      {"div.s32", "www", {0xfffffff9, 2}, 0xfffffffd},
      {"div.s32", "www", {0x80000000, 0xffffffff}, 0x80000000},
      {"div.u32", "www", {7, 0}, 0xffffffff},
      {"div.s64", "ddd", {7, 0}, 0xffffffffffffffff},
      {"div.u16", "hhh", {7, 0}, 0xffff},
      {"rem.s32", "www", {0xfffffff9, 2}, 0xffffffff},
      {"rem.s32", "www", {0x80000000, 0xffffffff}, 0},
      {"rem.u64", "ddd", {7, 0}, 0xffffffffffffffff},
      {"abs.s32", "ww", {0x80000000}, 0x80000000},
      {"neg.s64", "dd", {1}, 0xffffffffffffffff},
      {"min.s32", "www", {0xffffffff, 1}, 0xffffffff},
      {"min.u32", "www", {0xffffffff, 1}, 1},
      {"max.s16", "hhh", {0xffff, 1}, 1},
      {"max.s16x2", "www", {0xffff0001, 0x00010000}, 0x00010001},
      {"sad.u32", "wwww", {3, 10, 1}, 8},
      {"sad.s32", "wwww", {0xfffffffe, 3, 1}, 6},
      {"dp4a.s32.s32", "wwww", {0x80ff7f01, 0x01020304, 10}, 10U + 4 + 127 * 3 - 2 - 128},
      {"dp4a.u32.u32", "wwww", {0xffffffff, 0xffffffff, 0}, 4 * 255 * 255},
      {"dp2a.lo.s32.s32", "wwww", {0x0002ffff, 0x04030201, 0}, 3},
      {"dp2a.hi.s32.s32", "wwww", {0x0002ffff, 0x04030201, 0}, 5},
      {"dp4a.u32.s32", "wwww", {0xff000000, 0xff000000, 0}, 0xffffff01},
      {"dp4a.s32.u32", "wwww", {0x000000ff, 0x000000ff, 1}, 0xffffff02},
      {"dp2a.lo.u32.s32", "wwww", {0x0000ffff, 0x000000ff, 0}, 0xffff0001},
      {"dp2a.hi.s32.u32", "wwww", {0xffff0000, 0xff000000, 0}, 0xffffff01},
      {"mul24.hi.u32", "www", {0x00ffffff, 0xffffffff}, 0xfffffe00},
      {"mad24.lo.s32", "wwww", {0x00ffffff, 5, 7}, 2},
      {"mad24.hi.sat.s32", "wwww", {0x007fffff, 0x007fffff, 0x7fffffff}, 0x7fffffff},
      {"mul.hi.u16", "hhh", {0xffff, 0xffff}, 0xfffe},
      {"mul.hi.s16", "hhh", {0x8000, 2}, 0xffff},
      {"mad.hi.u16", "hhhh", {0xffff, 0xffff, 3}, 1},
      {"mad.wide.s16", "whhw", {0xffff, 2, 1}, 0xffffffff},
      {"div.s16", "hhh", {0x8000, 0xffff}, 0x8000},
      {"rem.s16", "hhh", {0xfff9, 0}, 0xffff},
      {"rem.u32", "www", {7, 0}, 0xffffffff},
      {"div.u64", "ddd", {0xffffffffffffffff, 0}, 0xffffffffffffffff},
      {"div.s64", "ddd", {0x8000000000000000, 0xffffffffffffffff}, 0x8000000000000000},
      {"add.s16x2", "www", {0x7fff0001, 0x0001ffff}, 0x80000000},
      {"min.u16x2", "www", {0xffff0001, 0x00010002}, 0x00010001},
      {"min.relu.s16x2", "www", {0x0005fffe, 0x0003ffff}, 0x00030000},
      {"max.relu.s16x2", "www", {0x0005fffe, 0x0003ffff}, 0x00050000},
      {"max.relu.s32", "www", {0xfffffffe, 0xffffffff}, 0},
      {"abs.s16", "hh", {0x8000}, 0x8000},
      {"sad.u16", "hhhh", {1, 0xffff, 5}, 3},
      {"sad.s64", "dddd", {0xffffffffffffffff, 1, 0}, 2},
  });
}

TEST(IntegerInstructions, CarriesRunThroughDoublewords) {
  TestMachine machine;
  machine.in64(5, 0, 0xffffffffffffffff);
  machine.in64(5, 2, 2);
  const Outcome outcome = machine.run(
      "ld.global.v2.u64 {%rd3,%rd4}, [%rd1];\n"
      "add.cc.u64 %rd5, %rd3, %rd4; addc.u64 %rd6, 0, 0;\n"
      "mad.hi.cc.u64 %rd7, %rd3, %rd3, %rd4; addc.cc.u64 %rd8, 0, 0;\n"
      "sub.cc.u64 %rd9, %rd4, %rd3; subc.u64 %rd10, 0, 0;\n"
      "st.global.v2.u64 [%rd2], {%rd5,%rd6}; st.global.v2.u64 [%rd2+16], {%rd7,%rd8};\n"
      "st.global.v2.u64 [%rd2+32], {%rd9,%rd10}; ret;");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out64(5, 0), 1U);
  EXPECT_EQ(machine.out64(5, 2), 1U);
  // The upper half of (2^64 − 1)² is 2^64 − 2; with 2 added it wraps.
  EXPECT_EQ(machine.out64(5, 4), 0U);
  EXPECT_EQ(machine.out64(5, 6), 1U);
  EXPECT_EQ(machine.out64(5, 8), 3U);
  EXPECT_EQ(machine.out64(5, 10), 0xffffffffffffffffU);
}

TEST(BitInstructions, ShiftsFieldsAndPermutations) {
  check({
      {"and.b32", "www", {0xff00ff00, 0x0ff00ff0}, 0x0f000f00},
      {"not.b16", "hh", {0x00ff}, 0xff00},
      {"cnot.b32", "ww", {0}, 1},
      {"xor.b64", "ddd", {0xff, 0xf0}, 0x0f},
      {"shl.b32", "www", {1, 32}, 0},
      {"shl.b32", "www", {1, 31}, 0x80000000},
      {"shl.b64", "ddw", {1, 63}, 0x8000000000000000},
      {"shl.b16", "hhw", {0x8001, 1}, 2},
      {"shr.u32", "www", {0x80000000, 40}, 0},
      {"shr.s32", "www", {0x80000000, 40}, 0xffffffff},
      {"shr.s64", "ddw", {0x8000000000000000, 63}, 0xffffffffffffffff},
      {"shr.s16", "hhw", {0x8000, 4}, 0xf800},
      {"bfe.u32", "wwww", {0xabcdef12, 8, 8}, 0xef},
      {"bfe.s32", "wwww", {0xabcdef12, 8, 8}, 0xffffffef},
      {"bfe.s32", "wwww", {0x80000000, 28, 16}, 0xfffffff8},
      {"bfe.u32", "wwww", {0xffffffff, 40, 4}, 0},
      {"bfe.u32", "wwww", {0xffffffff, 4, 0}, 0},
      {"bfe.u64", "ddww", {0xabcdef1234567890, 32, 16}, 0xef12},
      {"bfi.b32", "wwwww", {0xff, 0, 8, 4}, 0xf00},
      {"bfi.b32", "wwwww", {0xff, 0x12345678, 28, 8}, 0xf2345678},
      {"bfi.b32", "wwwww", {0xff, 0x12345678, 32, 8}, 0x12345678},
      {"bfind.u32", "ww", {0x00010000}, 16},
      {"bfind.s32", "ww", {0xffffffff}, 0xffffffff},
      {"bfind.s32", "ww", {0xfffeffff}, 16},
      {"bfind.shiftamt.u32", "ww", {0x00010000}, 15},
      {"bfind.u64", "wd", {0x8000000000000000}, 63},
      {"brev.b32", "ww", {1}, 0x80000000},
      {"clz.b32", "ww", {0}, 32},
      {"clz.b64", "wd", {1}, 63},
      {"popc.b32", "ww", {0xf0f0f0f0}, 16},
      {"prmt.b32", "wwww", {0x33221100, 0x77665544, 0x7531}, 0x77553311},
      {"prmt.b32", "wwww", {0x80221100, 0x77665544, 0xb8c0}, 0xff000000},
      {"prmt.b32.f4e", "wwww", {0x33221100, 0x77665544, 1}, 0x44332211},
      {"prmt.b32.b4e", "wwww", {0x33221100, 0x77665544, 1}, 0x66770011},
      {"prmt.b32.rc8", "wwww", {0x33221100, 0, 2}, 0x22222222},
      {"prmt.b32.ecl", "wwww", {0x33221100, 0, 1}, 0x33221111},
      {"prmt.b32.ecr", "wwww", {0x33221100, 0, 2}, 0x22221100},
      {"prmt.b32.rc16", "wwww", {0x33221100, 0, 1}, 0x33223322},
      {"shf.l.wrap.b32", "wwww", {0x80000000, 1, 33}, 3},
      {"shf.l.clamp.b32", "wwww", {0x80000000, 1, 40}, 0x80000000},
      {"shf.r.wrap.b32", "wwww", {0x80000000, 1, 4}, 0x18000000},
      {"shf.r.clamp.b32", "wwww", {0x80000000, 1, 32}, 1},
      {"fns.b32", "wwww", {0b101100, 0, 2}, 3},
      {"fns.b32", "wwww", {0b101100, 4, 0xffffffff}, 3},
      {"fns.b32", "wwww", {0b101100, 2, 0}, 2},
      {"and.pred", "ppp", {1, 0}, 0},
      {"xor.pred", "ppp", {1, 0}, 1},
      {"not.pred", "pp", {0}, 1},
  });
}

TEST(BitInstructions, SixtyFourBitFieldsReadWholeAmounts) {
  check({
      {"bfe.u64", "ddww", {0x40ffd67fffaa499c, 0x1e6b4816, 0x45}, 0},
      {"bfe.u64", "ddww", {0x80ff76637f5acfb9, 0x13, 0x4a569410}, 0x101feecc6feb},
      {"bfe.s64", "ddww", {0x8000000000000000, 0x100, 0xff}, 0xffffffffffffffff},
      {"bfi.b64", "dddww", {0x8001, 0x18000bbb7000101, 0xf, 0x57577d01}, 0x40008101},
      {"bfi.b64", "dddww", {0, 0x7fffffffffffffff, 0x39a9b410, 0x41}, 0x7fffffffffffffff},
      {"bfe.u32", "wwww", {0xabcdef12, 0x108, 0x108}, 0xef},
      {"fns.b32", "wwww", {0xfffffffe, 0x11, 0x80000000}, 0},
  });
}

TEST(BitInstructions, ExtendFromAPosition) {
  check({
      {"szext.clamp.s32", "www", {0x000000ff, 8}, 0xffffffff},
      {"szext.clamp.s32", "www", {0x0000017f, 8}, 0x7f},
      {"szext.clamp.s32", "www", {0x800000ff, 32}, 0x800000ff},
      {"szext.wrap.s32", "www", {0x000000ff, 32}, 0},
      {"szext.wrap.s32", "www", {0x00000080, 40}, 0xffffff80},
      {"szext.clamp.u32", "www", {0x0000abcd, 8}, 0xcd},
      {"szext.clamp.u32", "www", {0x0000abcd, 0}, 0},
      {"bmsk.clamp.b32", "www", {4, 8}, 0xff0},
      {"bmsk.clamp.b32", "www", {28, 8}, 0xf0000000},
      {"bmsk.clamp.b32", "www", {32, 8}, 0},
      {"bmsk.wrap.b32", "www", {36, 40}, 0xff0},
      {"shf.l.clamp.b32", "wwww", {0x12345678, 0x9abcdef0, 40}, 0x12345678},
      {"shf.l.wrap.b32", "wwww", {0x12345678, 0x9abcdef0, 40}, 0xbcdef012},
      {"shf.r.clamp.b32", "wwww", {0x12345678, 0x9abcdef0, 32}, 0x9abcdef0},
      {"shf.r.wrap.b32", "wwww", {0x12345678, 0x9abcdef0, 32}, 0x12345678},
  });
}

TEST(BitInstructions, LogicByTableWithAPredicate) {
  TestMachine machine;
  for (std::size_t t = 0; t < 32; ++t)
    machine.in(t, 0) = t < 16 ? 0 : static_cast<std::uint32_t>(t);
  const Outcome outcome = machine.run(
      "ld.global.u32 %r1, [%rd1]; mov.u32 %r9, 7; setp.lt.u32 %p1, %t2, 4;\n"
      "lop3.or.b32 %r2|%p2, %r1, %r1, 0, 0xf0, %p1;\n"
      "lop3.and.b32 _|%p3, %r1, %r1, 0, 0xf0, !%p1;\n"
      "selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 1, 0, %p3;\n"
      "setp.eq.u32 %p5, %t2, 20; @%p5 lop3.and.b32 %r9|%p3, %r1, 0, 0, 0x0, %p5;\n"
      "selp.u32 %r5, 1, 0, %p3;\n"
      "st.global.v4.u32 [%rd2], {%r2,%r3,%r4,%r5}; st.global.u32 [%rd2+16], %r9; ret;");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t, 0), machine.in(t, 0)) << t;
    EXPECT_EQ(machine.out(t, 1), t >= 16 || t < 4 ? 1U : 0U) << t;
    EXPECT_EQ(machine.out(t, 2), t >= 16 ? 1U : 0U) << t;
    EXPECT_EQ(machine.out(t, 3), t >= 16 && t != 20 ? 1U : 0U) << t;
    EXPECT_EQ(machine.out(t, 4), t == 20 ? 0U : 7U) << t;
  }
}

TEST(BitInstructions, LogicByTableIsTheSameForEveryTable) {
  for (unsigned table = 0; table < 256; ++table) {
    TestMachine machine;
    machine.in(5, 0) = 0x0f0ff00f;
    machine.in(5, 1) = 0x3333cccc;
    machine.in(5, 2) = 0x55aa55aa;
    ASSERT_FALSE(machine
                     .run("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1]; lop3.b32 %r5, %r1, %r2, "
                          "%r3, " +
                          std::to_string(table) + "; st.global.u32 [%rd2], %r5; ret;")
                     .fault);
    std::uint32_t expected = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
      const unsigned row = (machine.in(5, 0) >> bit & 1U) * 4 + (machine.in(5, 1) >> bit & 1U) * 2 +
                           (machine.in(5, 2) >> bit & 1U);
      expected |= (table >> row & 1U) << bit;
    }
    EXPECT_EQ(machine.out(5), expected) << table;
  }
}

TEST(BitInstructions, ConstantSelectorsPermuteLikeRegisters) {
  for (const char* selector : {"0x5410", "0x7632", "0x0123", "0x7654", "0x8c04", "0x1111"}) {
    TestMachine machine;
    for (std::size_t t = 0; t < 32; ++t) {
      machine.in(t, 0) = static_cast<std::uint32_t>(0x83828180U + 0x04040404U * t);
      machine.in(t, 1) = static_cast<std::uint32_t>(0x13121110U + 0x04040404U * t);
    }
    const std::string s = selector;
    const Outcome outcome = machine.run(
        "ld.global.v2.u32 {%r1,%r2}, [%rd1]; mov.u32 %r3, " + s + "; prmt.b32 %r4, %r1, %r2, " + s +
        "; prmt.b32 %r5, %r1, %r2, %r3;\nmov.u32 %r6, 0; setp.lt.u32 %p1, %t2, 9; @%p1 prmt.b32 "
        "%r6, %r1, %r2, " +
        s + "; st.global.v4.u32 [%rd2], {%r4,%r5,%r6,%r6}; ret;");
    ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
    for (std::size_t t = 0; t < 32; ++t) {
      EXPECT_EQ(machine.out(t, 0), machine.out(t, 1)) << selector;
      EXPECT_EQ(machine.out(t, 2), t < 9 ? machine.out(t, 1) : 0U) << selector;
    }
  }
}

TEST(FloatInstructions, RoundOnceAndCanonicaliseNan) {
  const float eps = 0x1p-24F;
  check({
      {"add.f32", "www", {f32(1), f32(eps)}, f32(1)},
      {"add.rn.f32", "www", {f32(1), f32(3 * eps)}, f32(1 + 4 * eps)},
      {"add.rz.f32", "www", {f32(1), f32(3 * eps)}, f32(1 + 2 * eps)},
      {"add.rm.f32", "www", {f32(-1), f32(-eps)}, f32(-1 - 2 * eps)},
      {"add.rp.f32", "www", {f32(1), f32(eps)}, f32(1 + 2 * eps)},
      {"add.rn.f32", "www", {kSignalling32, f32(1)}, kNan32},
      {"sub.rn.f32", "www", {0x7f800000, 0x7f800000}, kNan32},
      {"mul.rn.f32", "www", {0x00000001, f32(0.5F)}, 0},
      {"mul.rn.f32", "www", {0x00000003, f32(0.5F)}, 2},
      {"mul.ftz.f32", "www", {0x80000003, f32(1)}, 0x80000000},
      {"mul.rz.f32", "www", {f32(1 + 0x1p-23F), f32(1 + 0x1p-23F)}, f32(1 + 0x1p-22F)},
      {"mul.rp.f32", "www", {f32(1 + 0x1p-23F), f32(1 + 0x1p-23F)}, f32(1 + 3 * 0x1p-23F)},
      {"fma.rn.f32", "wwww", {f32(1 + 0x1p-12F), f32(1 - 0x1p-12F), f32(-1)}, f32(-0x1p-24F)},
      {"fma.rn.sat.f32", "wwww", {f32(2), f32(2), f32(2)}, f32(1)},
      {"add.sat.f32", "www", {kNan32, f32(2)}, 0},
      {"div.rn.f32", "www", {f32(1), f32(3)}, f32(1.0F / 3.0F)},
      {"div.rn.f32", "www", {f32(0), f32(0)}, kNan32},
      {"rcp.rn.f32", "ww", {f32(0)}, 0x7f800000},
      {"sqrt.rn.f32", "ww", {f32(2)}, f32(std::sqrt(2.0F))},
      {"sqrt.rn.f32", "ww", {f32(-1)}, kNan32},
      {"min.f32", "www", {0x00000000, 0x80000000}, 0x80000000},
      {"max.f32", "www", {0x80000000, 0x00000000}, 0},
      {"max.f32", "www", {kSignalling32, f32(-3)}, f32(-3)},
      {"max.NaN.f32", "www", {kSignalling32, f32(-3)}, kNan32},
      {"min.f32", "www", {kSignalling32, kSignalling32}, kNan32},
      {"neg.f32", "ww", {kSignalling32}, kNan32},
      {"abs.f32", "ww", {f32(-2)}, f32(2)},
      {"copysign.f32", "www", {0x80000000, 0x7f812345}, 0xff812345},
      {"add.ftz.f32", "www", {0x80000001, 0x80000001}, 0x80000000},
      {"fma.rn.ftz.f32", "wwww", {0x00800000, f32(0.5F), 0}, 0},
      {"fma.rn.f32", "wwww", {0x00800000, f32(0.5F), 0}, 0x00400000},
      {"sqrt.rz.f32", "ww", {f32(2)}, 0x3fb504f3},
      {"sqrt.rp.f32", "ww", {f32(2)}, 0x3fb504f4},
      {"sqrt.rn.f32", "ww", {0x80000000}, 0x80000000},
      {"rcp.rn.f32", "ww", {f32(3)}, 0x3eaaaaab},
      {"rcp.rz.f32", "ww", {f32(3)}, 0x3eaaaaaa},
      {"rcp.rn.ftz.f32", "ww", {0x00000001}, 0x7f800000},
      {"div.rm.f32", "www", {f32(-1), f32(3)}, 0xbeaaaaab},
      {"div.rn.f32", "www", {f32(-1), 0}, 0xff800000},
      {"div.rn.f32", "www", {f32(1), 0x7f800000}, 0},
      {"div.rn.ftz.f32", "www", {f32(1), 0x7f000000}, 0},
      {"div.rn.f64", "ddd", {f64(1), f64(3)}, 0x3fd5555555555555},
      {"div.rp.f64", "ddd", {f64(1), f64(3)}, 0x3fd5555555555556},
      {"rcp.rn.f64", "dd", {0x8000000000000000}, 0xfff0000000000000},
      {"sqrt.rn.f64", "dd", {f64(-1)}, 0xfff8000000000000},
      {"min.xorsign.abs.f32", "www", {f32(-3), f32(2)}, f32(-2)},
      {"max.xorsign.abs.f32", "www", {f32(-3), f32(-2)}, f32(3)},
      {"max.NaN.xorsign.abs.f32", "www", {kSignalling32, f32(1)}, kNan32},
      {"max.ftz.f32", "www", {0x00000001, f32(-1)}, 0},
      {"min.f64", "ddd", {f64(1), 0x7ff0000000000001}, f64(1)},
      {"mad.rn.f32", "wwww", {f32(1 + 0x1p-12F), f32(1 - 0x1p-12F), f32(-1)}, f32(-0x1p-24F)},
      {"testp.notanumber.f64", "pd", {0x7ff0000000000001}, 1},
      {"testp.finite.f32", "pw", {0x7f800000}, 0},
      {"copysign.f64", "ddd", {0x8000000000000000, f64(2)}, f64(-2)},
      {"add.f64", "ddd", {0x7ff0000000000001, 0xfff0000000000002}, 0xfff8000000000002},
      {"mul.rn.f64", "ddd", {f64(std::numeric_limits<double>::infinity()), 0}, 0xfff8000000000000},
      {"fma.rn.f64",
       "dddd",
       {0x7ff0000000000001, 0x7ff0000000000002, 0x7ff0000000000003},
       0x7ff8000000000002},
      {"div.rn.f64", "ddd", {0x7ff0000000000001, 0xfff0000000000002}, 0x7ff8000000000001},
      {"neg.f64", "dd", {0x7ff0000000000001}, 0x7ff8000000000001},
      {"add.rz.f64", "ddd", {f64(1), f64(0x1.8p-53)}, f64(1)},
      {"testp.subnormal.f32", "pw", {1}, 1},
      {"testp.normal.f32", "pw", {1}, 0},
  });
}

TEST(HalfInstructions, RoundOnceFromTheExactResult) {
  check({
      {"add.rn.f16x2", "www", {0x3c003c00, 0x3c000001}, 0x40003c00},
      {"add.f16", "hhh", {0x7c00, 0xfc00}, 0x7fff},
      {"sub.rn.f16", "hhh", {0x3c00, 0x3c00}, 0},
      {"mul.rn.f16", "hhh", {0x0001, 0x3800}, 0},
      {"mul.rn.f16", "hhh", {0x0003, 0x3800}, 2},
      {"mul.ftz.f16", "hhh", {0x0003, 0x3c00}, 0},
      {"mul.sat.f16", "hhh", {0x4000, 0x4000}, 0x3c00},
      {"mul.sat.f16", "hhh", {0x7e00, 0x4000}, 0},
      // 1·1 + 2^-24: below half an ulp. (1 + 2^-10)·(1 + 2^-10) + 2^-24 lies just above a midpoint
      // that f32 would round onto.
      {"fma.rn.f16", "hhhh", {0x3c00, 0x3c00, 0x0001}, 0x3c00},
      {"fma.rn.f16", "hhhh", {0x3c20, 0x3c10, 0x0001}, 0x3c31},
      {"fma.rn.relu.f16", "hhhh", {0x3c00, 0xbc00, 0}, 0},
      {"fma.rn.relu.f16", "hhhh", {0x7e00, 0xbc00, 0}, 0x7fff},
      {"fma.rn.bf16", "hhhh", {0x3f80, 0x3f80, 0x3b80}, 0x3f80},
      {"fma.rn.bf16x2", "wwww", {0x3f803f80, 0x3f803f80, 0x3b813b80}, 0x3f813f80},
      // The product underflows f32's precision, and only its tail says which way to round.
      {"mul.rn.bf16", "hhh", {0x0081, 0x3f01}, 0x0041},
      {"mul.bf16", "hhh", {0x3f80, 0x7fc0}, 0x7fff},
      {"neg.f16", "hh", {0xfe01}, 0x7fff},
      {"neg.bf16", "hh", {0x3f80}, 0xbf80},
      {"abs.f16x2", "ww", {0x8001bc00}, 0x00013c00},
      {"min.f16", "hhh", {0x0000, 0x8000}, 0x8000},
      {"max.f16", "hhh", {0x7e00, 0xbc00}, 0xbc00},
      {"max.NaN.bf16", "hhh", {0x7fc0, 0x3f80}, 0x7fff},
      {"max.xorsign.abs.f16", "hhh", {0xc200, 0xc000}, 0x4200},
      {"min.xorsign.abs.bf16", "hhh", {0xbf80, 0x4000}, 0xbf80},
      {"min.NaN.xorsign.abs.f16x2", "www", {0x7e00c200, 0x3c004000}, 0x7fffc000},
      {"max.ftz.f16", "hhh", {0x0001, 0x8001}, 0},
      {"fma.rn.sat.f16x2", "wwww", {0x40003c00, 0x4000bc00, 0}, 0x3c000000},
      {"fma.rn.ftz.relu.f16", "hhhh", {0x0001, 0x3c00, 0x8000}, 0},
      {"fma.rn.oob.bf16", "hhhh", {0x3f80, 0xfff7, 0x3f80}, 0},
      {"fma.rn.oob.bf16", "hhhh", {0x3f80, 0x7fff, 0x3f80}, 0x7fff},
      {"fma.rn.oob.bf16", "hhhh", {0x3f80, 0x7ff7, 0x3f80}, 0},
      {"fma.rn.oob.f16", "hhhh", {0x7ff7, 0x3c00, 0x3c00}, 0},
      {"fma.rn.oob.f16", "hhhh", {0xfdf7, 0x3c00, 0x3c00}, 0x7fff},
      {"fma.rn.oob.relu.bf16x2", "wwww", {0xfff73f80, 0x3f803f80, 0x3f803f80}, 0x00004000},
      // Just below the normal numbers before it is rounded to the smallest of them.
      {"fma.rn.ftz.f16", "hhhh", {0x3bff, 0x8400, 0x03fe}, 0x8000},
      {"fma.rn.f16", "hhhh", {0x3bff, 0x8400, 0}, 0x8400},
      {"fma.rn.relu.bf16x2", "wwww", {0x3f803f80, 0xbf803f80, 0}, 0x00003f80},
      {"sub.bf16x2", "www", {0x40003f80, 0x3f804000}, 0x3f80bf80},
  });
}

TEST(Conversions, BetweenIntegers) {
  check({
      {"cvt.u32.u16", "wh", {0xffff}, 0xffff},
      {"cvt.s32.s16", "wh", {0xffff}, 0xffffffff},
      {"cvt.u16.u32", "hw", {0x12345}, 0x2345},
      {"cvt.s64.s32", "dw", {0x80000000}, 0xffffffff80000000},
      {"cvt.u64.u32", "dw", {0x80000000}, 0x80000000},
      {"cvt.u32.u64", "wd", {0x123456789}, 0x23456789},
      {"cvt.s32.s8", "ww", {0x80}, 0xffffff80},
      {"cvt.sat.u8.s32", "hw", {300}, 255},
      {"cvt.sat.s8.s32", "hw", {0xffffff00}, 0xff80},
      {"cvt.sat.u32.s64", "wd", {0xffffffffffffffff}, 0},
      {"cvt.sat.s32.u32", "ww", {0x80000000}, 0x7fffffff},
  });
}

TEST(Conversions, FromFloatToInteger) {
  check({
      {"cvt.rzi.s32.f32", "ww", {f32(-1.9F)}, 0xffffffff},
      {"cvt.rni.s32.f32", "ww", {f32(2.5F)}, 2},
      {"cvt.rmi.s32.f32", "ww", {f32(-1.1F)}, 0xfffffffe},
      {"cvt.rpi.s32.f32", "ww", {f32(1.1F)}, 2},
      {"cvt.rzi.s32.f32", "ww", {kNan32}, 0},
      {"cvt.rzi.s32.f32", "ww", {f32(3e9F)}, 0x7fffffff},
      {"cvt.rzi.u32.f32", "ww", {f32(-3.0F)}, 0},
      {"cvt.rzi.u32.f64", "wd", {0x7ff8000000000000}, 0x80000000},
      {"cvt.rzi.s32.f64", "wd", {0x7ff8000000000000}, 0x80000000},
      {"cvt.rzi.s64.f32", "dw", {kNan32}, 0x8000000000000000},
      {"cvt.rzi.u64.f64", "dd", {f64(1e30)}, 0xffffffffffffffff},
      {"cvt.rzi.u8.f32", "hw", {f32(300)}, 255},
      {"cvt.rzi.s16.f16", "hh", {0xc500}, 0xfffb},
  });
}

TEST(Conversions, FromIntegerToFloat) {
  check({
      {"cvt.rn.f32.s32", "ww", {0x01000001}, f32(16777216)},
      {"cvt.rz.f32.s32", "ww", {0x01000003}, f32(16777218)},
      {"cvt.rp.f32.u32", "ww", {0xffffffff}, f32(4294967296.0F)},
      {"cvt.rz.f32.u32", "ww", {0xffffffff}, f32(4294967040.0F)},
      {"cvt.rn.f32.u64", "wd", {0x8000008000000001}, f32(0x1.000002p63F)},
      {"cvt.rn.f64.s64", "dd", {0x7fffffffffffffff}, f64(0x1p63)},
      {"cvt.rn.f16.s32", "hw", {2049}, 0x6800},
      {"cvt.rn.f16.s32", "hw", {100000}, 0x7c00},
      {"cvt.rn.bf16.u64", "hd", {0x8080000000000001}, 0x5f01},
  });
}

TEST(Conversions, BetweenFloats) {
  check({
      {"cvt.rn.f16.f32", "hw", {f32(1 + 0x1p-11F)}, 0x3c00},
      {"cvt.rn.f16.f32", "hw", {f32(65520)}, 0x7c00},
      {"cvt.rz.f16.f32", "hw", {f32(65520)}, 0x7bff},
      {"cvt.rn.f16.f32", "hw", {kSignalling32}, 0x7fff},
      {"cvt.rn.f16.f32", "hw", {f32(0x1p-25F)}, 0},
      {"cvt.rn.f16.f32", "hw", {f32(0x1.8p-25F)}, 1},
      {"cvt.rn.bf16.f32", "hw", {0x3f808000}, 0x3f80},
      {"cvt.rn.bf16.f32", "hw", {0x3f818000}, 0x3f82},
      {"cvt.rz.bf16.f32", "hw", {0x3f81ffff}, 0x3f81},
      {"cvt.rn.bf16.f32", "hw", {0x7f7fffff}, 0x7f80},
      {"cvt.rn.bf16.f32", "hw", {kSignalling32}, 0x7fff},
      {"cvt.rn.f16x2.f32", "www", {f32(1), f32(2)}, 0x3c004000},
      {"cvt.rn.f16x2.f32", "www", {kSignalling32, f32(2)}, 0x7fff4000},
      {"cvt.rn.bf16x2.f32", "www", {f32(1), kNan32}, 0x3f807fff},
      {"cvt.rn.relu.f16x2.f32", "www", {f32(-1), f32(2)}, 0x00004000},
      {"cvt.f32.f16", "wh", {0x0001}, f32(0x1p-24F)},
      {"cvt.f32.f16", "wh", {0xfc01}, kNan32},
      {"cvt.f32.bf16", "wh", {0x3f80}, f32(1)},
      {"cvt.f64.f32", "dw", {0x7fa00000}, 0x7ffc000000000000},
      {"cvt.rn.f32.f64", "wd", {f64(1 + 0x1p-24)}, f32(1)},
      {"cvt.rp.f32.f64", "wd", {f64(1 + 0x1p-24)}, f32(1 + 0x1p-23F)},
      {"cvt.rn.f16.f64", "hd", {f64(1 + 0x1p-11 + 0x1p-40)}, 0x3c01},
      {"cvt.rni.f32.f32", "ww", {f32(2.5F)}, f32(2)},
      {"cvt.rzi.f32.f32", "ww", {f32(-2.5F)}, f32(-2)},
      {"cvt.sat.f32.f32", "ww", {f32(-2.5F)}, 0},
  });
}

TEST(Comparisons, OrderedUnorderedAndSelection) {
  check({
      {"setp.lt.s32", "pww", {0xffffffff, 0}, 1},
      {"setp.lt.u32", "pww", {0xffffffff, 0}, 0},
      {"setp.hi.u32", "pww", {0xffffffff, 0}, 1},
      {"setp.ge.s64", "pdd", {0x8000000000000000, 0}, 0},
      {"setp.eq.b16", "phh", {7, 7}, 1},
      {"setp.ne.f32", "pww", {kNan32, f32(1)}, 0},
      {"setp.neu.f32", "pww", {kNan32, f32(1)}, 1},
      {"setp.equ.f32", "pww", {kNan32, f32(1)}, 1},
      {"setp.geu.f32", "pww", {f32(1), f32(2)}, 0},
      {"setp.num.f64", "pdd", {f64(1), 0x7ff8000000000000}, 0},
      {"setp.nan.f32", "pww", {kNan32, f32(1)}, 1},
      {"setp.eq.f32", "pww", {0x80000000, 0}, 1},
      {"setp.gt.ftz.f32", "pww", {1, 0}, 0},
      {"setp.gt.f16", "phh", {0x4000, 0x3c00}, 1},
      {"setp.lt.bf16", "phh", {0x7fc0, 0x3c00}, 0},
      {"setp.lt.and.s32", "pwwp", {1, 2, 0}, 0},
      {"setp.lt.or.s32", "pwwp", {3, 2, 1}, 1},
      {"set.lt.u32.s32", "www", {1, 2}, 0xffffffff},
      {"set.lt.f32.s32", "www", {1, 2}, 0x3f800000},
      {"set.gt.f16x2.f16x2", "www", {0x40003c00, 0x3c003c00}, 0x3c000000},
      {"selp.b32", "wwwp", {1, 2, 0}, 2},
      {"selp.f64", "dddp", {1, 2, 1}, 1},
      {"slct.u32.s32", "wwww", {1, 2, 0xffffffff}, 2},
      {"slct.u32.f32", "wwww", {1, 2, 0x80000000}, 1},
  });
}

TEST(Comparisons, OfEveryType) {
  check({
      {"setp.ls.u64", "pdd", {5, 5}, 1},
      {"setp.ne.b64", "pdd", {0x100000000, 0}, 1},
      {"setp.hs.u16", "phh", {0x8000, 0x7fff}, 1},
      {"setp.lt.s16", "phh", {0x8000, 0x7fff}, 1},
      {"setp.equ.f64", "pdd", {0x7ff8000000000000, 0}, 1},
      {"setp.eq.ftz.f16", "phh", {0x0001, 0x8001}, 1},
      {"setp.eq.f16", "phh", {0x0001, 0x8001}, 0},
      {"setp.gtu.bf16", "phh", {0x7fc0, 0x3c00}, 1},
      {"setp.gt.xor.u64", "pddp", {2, 1, 1}, 0},
      {"set.eq.u32.f16x2", "www", {0x3c000000, 0x3c008001}, 0xffff0000},
      {"set.neu.u16.bf16", "hhh", {0x7fff, 0x3f80}, 0xffff},
      {"set.lt.f16.u16", "hhh", {1, 2}, 0x3c00},
      {"set.ge.bf16.s64", "hdd", {1, 0xffffffffffffffff}, 0x3f80},
      {"set.ltu.xor.s32.f64", "wddp", {f64(1), 0x7ff8000000000000, 1}, 0},
      {"set.num.bf16x2.bf16x2", "www", {0x7fc03f80, 0x3f803f80}, 0x00003f80},
      {"slct.s64.f32", "dddw", {1, 2, kNan32}, 2},
      {"slct.ftz.b16.f32", "hhhw", {1, 2, 0x80000001}, 1},
      {"slct.b16.f32", "hhhw", {1, 2, 0x80000001}, 2},
      {"selp.b64", "dddp", {1, 2, 0}, 2},
  });
}

TEST(Comparisons, OfPairsGiveTwoPredicates) {
  TestMachine machine;
  machine.in(5, 0) = 0x3c00c000;  // 1, −2
  machine.in(5, 1) = 0x40004000;  // 2, 2
  const Outcome outcome = machine.run(
      "ld.global.v2.u32 {%r1,%r2}, [%rd1]; setp.lt.f16x2 %p1|%p2, %r1, %r2;\n"
      "setp.gt.and.f16x2 %p3|%p4, %r1, %r2, %p1; setp.lt.and.s32 %p5|%p6, %r1, %r2, %p1;\n"
      "selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 1, 0, %p2; selp.u32 %r5, 1, 0, %p3;\n"
      "selp.u32 %r6, 1, 0, %p5; selp.u32 %r7, 1, 0, %p6;\n"
      "st.global.v4.u32 [%rd2], {%r3,%r4,%r5,%r6}; st.global.u32 [%rd2+16], %r7; ret;");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(5, 0), 1U);
  EXPECT_EQ(machine.out(5, 1), 1U);
  EXPECT_EQ(machine.out(5, 2), 0U);
  EXPECT_EQ(machine.out(5, 3), 1U);
  // q is the negated comparison, combined: 0x3c00c000 < 0x40004000 holds.
  EXPECT_EQ(machine.out(5, 4), 0U);
}

TEST(Comparisons, SelectionOfNegativeHalfwordsKeepsTheirWidth) {
  TestMachine machine;
  const Outcome outcome = machine.run(
      "setp.lt.u32 %p1, %t2, 8; selp.b16 %h1, -1, -2, %p1; slct.s16.s32 %h2, -3, 4, 0;\n"
      "mov.b32 %r1, {%h1,%h2}; mul.wide.u16 %r2, %h1, %h1; cvt.u32.u16 %r3, %h2;\n"
      "st.global.v2.u32 [%rd2], {%r1,%r2}; st.global.u32 [%rd2+8], %r3; ret;");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(5, 0), 0xfffdffffU);
  EXPECT_EQ(machine.out(5, 1), 0xfffe0001U);
  EXPECT_EQ(machine.out(5, 2), 0xfffdU);
  EXPECT_EQ(machine.out(9, 0), 0xfffdfffeU);
}

TEST(DataMovement, PacksBytesAndQuadwords) {
  TestMachine machine;
  machine.in(5, 0) = 0x44332211;
  machine.in(5, 1) = 0x88776655;
  machine.in(5, 2) = 0xccbbaa99;
  machine.in(5, 3) = 0x00ffeedd;
  const Outcome outcome = machine.run(
      ".reg .b8 %b<5>; .reg .b128 %q<3>;\n"
      "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1]; cvt.u16.u32 %h1, %r1;\n"
      "mov.b16 {%b1,%b2}, %h1; mov.b16 %h2, {%b2,%b1}; cvt.u32.u16 %r5, %h2;\n"
      "mov.b32 {%b1,%b2,%b3,%b4}, %r1; mov.b32 %r6, {%b4,%b3,%b2,%b1};\n"
      "mov.b64 %rd3, {%r1,%r2}; mov.b64 %rd4, {%r3,%r4}; mov.b128 %q1, {%rd3,%rd4};\n"
      "mov.b128 %q2, %q1; mov.b128 {%rd6,%rd7}, %q2; mov.b128 {%r10,%r11,%r12,%r13}, %q2;\n"
      "st.global.v4.u32 [%rd2], {%r5,%r6,%r11,%r12}; st.global.v2.u64 [%rd2+16], {%rd6,%rd7}; "
      "ret;");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(5, 0), 0x1122U);
  EXPECT_EQ(machine.out(5, 1), 0x11223344U);
  EXPECT_EQ(machine.out(5, 2), 0x88776655U);
  EXPECT_EQ(machine.out(5, 3), 0xccbbaa99U);
  EXPECT_EQ(machine.out64(5, 4), 0x8877665544332211U);
  EXPECT_EQ(machine.out64(5, 6), 0x00ffeeddccbbaa99U);
}

TEST(IntegerInstructions, CarriesRunThroughWords) {
  TestMachine machine;
  machine.in(5, 0) = 0xffffffff;
  machine.in(5, 1) = 0xffffffff;
  machine.in(5, 2) = 1;
  const Outcome outcome = machine.run(
      "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1];\n"
      "add.cc.u32 %r5, %r1, %r3; addc.cc.u32 %r6, %r2, 0; addc.u32 %r7, 0, 0;\n"
      "sub.cc.u32 %r8, 0, %r3; subc.u32 %r9, 0, 0;\n"
      "st.global.v4.u32 [%rd2], {%r5,%r6,%r7,%r8}; st.global.u32 [%rd2+16], %r9; ret;");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(5, 0), 0U);
  EXPECT_EQ(machine.out(5, 1), 0U);
  EXPECT_EQ(machine.out(5, 2), 1U);
  EXPECT_EQ(machine.out(5, 3), 0xffffffffU);
  EXPECT_EQ(machine.out(5, 4), 0xffffffffU);
  EXPECT_EQ(machine.out(4, 2), 0U);
}

TEST(DataMovement, PacksAndUnpacks) {
  TestMachine machine;
  machine.in(5, 0) = 0x44332211;
  machine.in(5, 1) = 0x88776655;
  const Outcome outcome = machine.run(
      "ld.global.v2.u32 {%r1,%r2}, [%rd1]; mov.b64 %rd3, {%r1,%r2}; mov.b64 {%r3,%r4}, %rd3;\n"
      "mov.b32 {%h1,%h2}, %r1; mov.b32 %r5, {%h2,%h1}; mov.b64 {%h3,%h4,%h5,%h6}, %rd3;\n"
      "mov.b64 %rd4, {%h6,%h5,%h4,%h3};\n"
      "st.global.v4.u32 [%rd2], {%r3,%r4,%r5,%r1}; st.global.u64 [%rd2+16], %rd4; ret;");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out64(5, 0), 0x8877665544332211U);
  EXPECT_EQ(machine.out(5, 2), 0x22114433U);
  EXPECT_EQ(machine.out64(5, 4), 0x2211443366558877U);
}

}  // namespace
}  // namespace bitgate::machine
