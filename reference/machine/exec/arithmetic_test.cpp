#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reference/machine/exec/test_machine.h"

// One instruction at a time on chosen operands, with results from the PTX ISA and h200-bits.

namespace bitgate::machine {
namespace {

struct Case {
  const char* instruction;  ///< "add.s32", on registers of the widths below
  const char* widths;       ///< destination first: 'h' 16, 'w' 32, 'd' 64, 'p' predicate as 0 or 1
  std::vector<std::uint64_t> operands;
  std::uint64_t expected;
};

std::uint64_t f32(float v) { return std::bit_cast<std::uint32_t>(v); }
std::uint64_t f64(double v) { return std::bit_cast<std::uint64_t>(v); }
constexpr std::uint64_t kNan32 = 0x7fffffff;
constexpr std::uint64_t kSignalling32 = 0xff812345;

/// Runs the case in lane 5 alone and in all lanes; both must give the same.
std::uint64_t evaluate(const Case& c, bool masked) {
  const std::string widths = c.widths;
  std::string body;
  std::string operands;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    const std::string n = std::to_string(i);
    const std::string at = "[%rd1+" + std::to_string(8 * (i - 1)) + "];";
    switch (widths[i]) {
      case 'h':
        body += "ld.global.u16 %h" + n + ", " + at;
        operands += ", %h" + n;
        break;
      case 'w':
        body += "ld.global.u32 %r" + n + ", " + at;
        operands += ", %r" + n;
        break;
      case 'd':
        body += "ld.global.u64 %rd1" + n + ", " + at;
        operands += ", %rd1" + n;
        break;
      default:
        body += "ld.global.u32 %r" + n + ", " + at + " setp.ne.u32 %p" + n + ", %r" + n + ", 0;";
        operands += ", %p" + n;
        break;
    }
  }
  if (masked) body += "setp.eq.u32 %p9, %t2, 5; @!%p9 bra SKIP;\n";
  const char* destination = widths[0] == 'h'   ? "%h20"
                            : widths[0] == 'w' ? "%r20"
                            : widths[0] == 'd' ? "%rd20"
                                               : "%p20";
  body += std::string(c.instruction) + " " + destination + operands + ";\n";
  switch (widths[0]) {
    case 'h':
      body += "st.global.u16 [%rd2], %h20;";
      break;
    case 'w':
      body += "st.global.u32 [%rd2], %r20;";
      break;
    case 'd':
      body += "st.global.u64 [%rd2], %rd20;";
      break;
    default:
      body += "selp.u32 %r20, 1, 0, %p20; st.global.u32 [%rd2], %r20;";
      break;
  }
  body += "\nSKIP:\nret;";
  TestMachine machine;
  for (std::size_t thread = 0; thread < 32; ++thread) {
    for (std::size_t i = 0; i < c.operands.size(); ++i) machine.in64(thread, 2 * i, c.operands[i]);
  }
  const Outcome outcome = machine.run(body);
  EXPECT_FALSE(outcome.fault) << c.instruction << ": " << TestMachine::describe(outcome);
  if (masked) {
    EXPECT_EQ(machine.out64(4), 0U);
  } else {
    EXPECT_EQ(machine.out64(31), machine.out64(5));
  }
  return machine.out64(5);
}

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    std::string operands;
    for (const std::uint64_t v : c.operands) {
      char text[32];
      std::snprintf(text, sizeof text, " %#llx", static_cast<unsigned long long>(v));
      operands += text;
    }
    EXPECT_EQ(evaluate(c, false), c.expected) << c.instruction << operands;
    EXPECT_EQ(evaluate(c, true), c.expected) << c.instruction << operands << " (masked)";
  }
}

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
  });
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
