#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/machine/exec/test_machine.h"
#include "reference/numeric/half.h"

// Random straight-line programs with guards, against a plain evaluation of each lane; and the half
// operations against one rounding of the exact value.

namespace bitgate::machine {
namespace {

using U32 = std::uint32_t;

struct Operation {
  const char* name;
  int sources;
  U32 (*evaluate)(U32 a, U32 b, U32 c);
};

float as_float(U32 v) { return std::bit_cast<float>(v); }
U32 float_bits(float v) { return std::isnan(v) ? 0x7fffffffU : std::bit_cast<U32>(v); }

const std::vector<Operation>& operations() {
  static const std::vector<Operation> kOperations{
      {"add.s32", 2, [](U32 a, U32 b, U32) { return a + b; }},
      {"sub.s32", 2, [](U32 a, U32 b, U32) { return a - b; }},
      {"mul.lo.s32", 2, [](U32 a, U32 b, U32) { return a * b; }},
      {"mul.hi.u32", 2,
       [](U32 a, U32 b, U32) { return static_cast<U32>(std::uint64_t{a} * b >> 32); }},
      {"mul.hi.s32", 2,
       [](U32 a, U32 b, U32) {
         return static_cast<U32>(static_cast<std::int64_t>(static_cast<std::int32_t>(a)) *
                                     static_cast<std::int32_t>(b) >>
                                 32);
       }},
      {"mad.lo.s32", 3, [](U32 a, U32 b, U32 c) { return a * b + c; }},
      {"and.b32", 2, [](U32 a, U32 b, U32) { return a & b; }},
      {"or.b32", 2, [](U32 a, U32 b, U32) { return a | b; }},
      {"xor.b32", 2, [](U32 a, U32 b, U32) { return a ^ b; }},
      {"shl.b32", 2, [](U32 a, U32 b, U32) { return b > 31 ? 0 : a << b; }},
      {"shr.u32", 2, [](U32 a, U32 b, U32) { return b > 31 ? 0 : a >> b; }},
      {"shr.s32", 2,
       [](U32 a, U32 b, U32) {
         return static_cast<U32>(static_cast<std::int32_t>(a) >> (b > 31 ? 31 : b));
       }},
      {"min.s32", 2,
       [](U32 a, U32 b, U32) {
         return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b;
       }},
      {"max.u32", 2, [](U32 a, U32 b, U32) { return a > b ? a : b; }},
      {"div.u32", 2, [](U32 a, U32 b, U32) { return b == 0 ? 0xffffffffU : a / b; }},
      {"rem.u32", 2, [](U32 a, U32 b, U32) { return b == 0 ? 0xffffffffU : a % b; }},
      {"prmt.b32", 3,
       [](U32 a, U32 b, U32 c) {
         U32 result = 0;
         const std::uint64_t pair = std::uint64_t{b} << 32 | a;
         for (U32 i = 0; i < 4; ++i) {
           const U32 s = c >> (4 * i) & 15U;
           U32 byte = static_cast<U32>(pair >> (8 * (s & 7U))) & 0xffU;
           if ((s & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0U;
           result |= byte << (8 * i);
         }
         return result;
       }},
      {"shf.r.wrap.b32", 3,
       [](U32 a, U32 b, U32 c) {
         return static_cast<U32>((std::uint64_t{b} << 32 | a) >> (c & 31U));
       }},
      {"popc.b32", 1, [](U32 a, U32, U32) { return static_cast<U32>(std::popcount(a)); }},
      {"clz.b32", 1, [](U32 a, U32, U32) { return static_cast<U32>(std::countl_zero(a)); }},
      {"add.rn.f32", 2, [](U32 a, U32 b, U32) { return float_bits(as_float(a) + as_float(b)); }},
      {"sub.rn.f32", 2, [](U32 a, U32 b, U32) { return float_bits(as_float(a) - as_float(b)); }},
      {"mul.rn.f32", 2, [](U32 a, U32 b, U32) { return float_bits(as_float(a) * as_float(b)); }},
      {"div.rn.f32", 2, [](U32 a, U32 b, U32) { return float_bits(as_float(a) / as_float(b)); }},
      {"fma.rn.f32", 3,
       [](U32 a, U32 b, U32 c) {
         return float_bits(std::fma(as_float(a), as_float(b), as_float(c)));
       }},
  };
  return kOperations;
}

rc::Gen<U32> interesting() {
  return rc::gen::oneOf(
      rc::gen::arbitrary<U32>(),
      rc::gen::element<U32>(0, 1, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000,
                            0xbf800000, 0x7f800000, 0xff800000, 0x7fc12345, 0x00000001, 0x80000001,
                            0x007fffff, 0x7f7fffff));
}

constexpr int kRegisters = 8;

TEST(RandomPrograms, AgreeWithPlainEvaluation) {
  EXPECT_TRUE(rc::check("straight-line programs", [] {
    TestMachine machine;
    std::vector<std::vector<U32>> values(32, std::vector<U32>(kRegisters));
    for (std::size_t t = 0; t < 32; ++t) {
      for (std::size_t r = 0; r < kRegisters; ++r) {
        values[t][r] = *interesting();
        machine.in(t, r) = values[t][r];
      }
    }
    std::string body =
        "ld.global.v4.u32 {%r0,%r1,%r2,%r3}, [%rd1]; ld.global.v4.u32 {%r4,%r5,%r6,%r7}, "
        "[%rd1+16];\n";
    const int length = *rc::gen::inRange(1, 40);
    for (int i = 0; i < length; ++i) {
      const Operation& operation =
          operations()[*rc::gen::inRange<std::size_t>(0, operations().size())];
      const auto d = *rc::gen::inRange<std::size_t>(0, kRegisters);
      const bool guarded = *rc::gen::inRange(0, 3) == 0;
      const auto p = *rc::gen::inRange<std::size_t>(0, kRegisters);
      std::string line;
      std::vector<bool> runs(32, true);
      if (guarded) {
        line += "setp.lt.s32 %p1, %r" + std::to_string(p) + ", %r0; @!%p1 ";
        for (std::size_t t = 0; t < 32; ++t) {
          runs[t] =
              static_cast<std::int32_t>(values[t][p]) >= static_cast<std::int32_t>(values[t][0]);
        }
      }
      line += std::string(operation.name) + " %r" + std::to_string(d);
      std::vector<int> source(3, -1);
      std::vector<U32> constant(3, 0);
      for (int s = 0; s < operation.sources; ++s) {
        const auto k = static_cast<std::size_t>(s);
        if (*rc::gen::inRange(0, 4) == 0) {
          constant[k] = *interesting();
          const bool is_float = std::string(operation.name).ends_with("f32");
          char text[32];
          std::snprintf(text, sizeof text, is_float ? ", 0f%08X" : ", 0x%x", constant[k]);
          line += text;
        } else {
          source[k] = *rc::gen::inRange(0, kRegisters);
          line += ", %r" + std::to_string(source[k]);
        }
      }
      body += line + ";\n";
      for (std::size_t t = 0; t < 32; ++t) {
        if (!runs[t]) continue;
        U32 v[3];
        for (std::size_t s = 0; s < 3; ++s) {
          v[s] = source[s] >= 0 ? values[t][static_cast<std::size_t>(source[s])] : constant[s];
        }
        values[t][d] = operation.evaluate(v[0], v[1], v[2]);
      }
    }
    body +=
        "st.global.v4.u32 [%rd2], {%r0,%r1,%r2,%r3}; st.global.v4.u32 [%rd2+16], "
        "{%r4,%r5,%r6,%r7}; ret;";
    const Outcome outcome = machine.run(body);
    RC_LOG(body);
    RC_ASSERT(!outcome.fault);
    for (std::size_t t = 0; t < 32; ++t) {
      for (std::size_t r = 0; r < kRegisters; ++r) RC_ASSERT(machine.out(t, r) == values[t][r]);
    }
  }));
}

/// x·y + z with one rounding.
std::uint16_t exact_fma(numeric::ScalarType type, std::uint16_t x, std::uint16_t y,
                        std::uint16_t z) {
  const double a = static_cast<double>(numeric::to_float(type, x));
  const double b = static_cast<double>(numeric::to_float(type, y));
  const double c = static_cast<double>(numeric::to_float(type, z));
  const double product = a * b;  // exact
  if (!std::isfinite(product) || !std::isfinite(c) || product == 0 || c == 0) {
    return numeric::round_to(type, product + c);
  }
  // Two-sum, then the sum's last bit as the sticky bit.
  const double sum = product + c;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (c - back);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error != 0 && (bits & 1) == 0) {
    bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
  }
  return numeric::round_to(type, std::bit_cast<double>(bits));
}

/// Random halves near each other's size, so that sums cancel and products meet midpoints.
rc::Gen<std::uint16_t> half_bits() {
  return rc::gen::oneOf(
      rc::gen::arbitrary<std::uint16_t>(),
      rc::gen::map(rc::gen::inRange(0, 0x2000),
                   [](int v) { return static_cast<std::uint16_t>(0x3000 + v); }),
      rc::gen::map(rc::gen::inRange(0, 0x420), [](int v) { return static_cast<std::uint16_t>(v); }),
      rc::gen::map(rc::gen::inRange(0, 0x420),
                   [](int v) { return static_cast<std::uint16_t>(0x8000 + v); }));
}

TEST(RandomPrograms, HalfArithmeticRoundsOnce) {
  EXPECT_TRUE(rc::check("f16 and bf16", [] {
    const bool bfloat = *rc::gen::arbitrary<bool>();
    const auto type = bfloat ? numeric::ScalarType::bf16 : numeric::ScalarType::f16;
    const std::string name = bfloat ? "bf16x2" : "f16x2";
    TestMachine machine;
    for (std::size_t t = 0; t < 32; ++t) {
      for (std::size_t w = 0; w < 3; ++w) {
        machine.in(t, w) = static_cast<U32>(*half_bits()) << 16 | *half_bits();
      }
    }
    const Outcome outcome =
        machine.run("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1]; fma.rn." + name +
                    " %r5, %r1, %r2, %r3;\nadd.rn." + name + " %r6, %r1, %r2; sub.rn." + name +
                    " %r7, %r1, %r2; mul.rn." + name +
                    " %r8, %r1, %r2;\nst.global.v4.u32 [%rd2], "
                    "{%r5,%r6,%r7,%r8}; ret;");
    RC_ASSERT(!outcome.fault);
    const std::uint16_t one = bfloat ? 0x3f80 : 0x3c00;
    for (std::size_t t = 0; t < 32; ++t) {
      for (int part = 0; part < 2; ++part) {
        const auto pick = [&](U32 v) { return static_cast<std::uint16_t>(v >> (16 * part)); };
        const std::uint16_t a = pick(machine.in(t, 0));
        const std::uint16_t b = pick(machine.in(t, 1));
        const std::uint16_t c = pick(machine.in(t, 2));
        const auto negative_b = static_cast<std::uint16_t>(b ^ 0x8000);
        RC_ASSERT(pick(machine.out(t, 0)) == exact_fma(type, a, b, c));
        RC_ASSERT(pick(machine.out(t, 1)) == exact_fma(type, a, one, b));
        RC_ASSERT(pick(machine.out(t, 2)) == exact_fma(type, a, one, negative_b));
        const double product = static_cast<double>(numeric::to_float(type, a)) *
                               static_cast<double>(numeric::to_float(type, b));
        RC_ASSERT(pick(machine.out(t, 3)) == numeric::round_to(type, product));
      }
    }
  }));
}

/// What random programs found against an H200.
TEST(RandomPrograms, WideLiteralsOfSlctKeepTheirBits) {
  TestMachine machine;
  const Outcome outcome = machine.run(
      "mov.f32 %f1, 0f3f800000; mov.u64 %rd4, 7;\n"
      "slct.s64.f32 %rd3, 2073290217691730578, %rd4, %f1;\n"
      "slct.f64.f32 %fd1, 0d3fcd7faf48a415bd, %fd2, %f1;\n"
      "st.global.u64 [%rd2], %rd3; st.global.f64 [%rd2+8], %fd1; ret;");
  EXPECT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out64(0, 0), 2073290217691730578U);
  EXPECT_EQ(machine.out64(0, 2), 0x3fcd7faf48a415bdU);
}

}  // namespace
}  // namespace bitgate::machine
