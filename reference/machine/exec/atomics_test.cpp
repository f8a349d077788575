#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/machine/exec/test_machine.h"

// Every operation of atom and red on every type, in each space; by hand.

namespace bitgate::machine {
namespace {

struct AtomicCase {
  const char* operation;  ///< "add.u32"
  std::uint64_t old;
  std::uint64_t b;
  std::uint64_t c;
  std::uint64_t expected;
};

unsigned bits_of(const std::string& type) {
  if (type.ends_with("x2")) return 32;
  return static_cast<unsigned>(std::stoul(type.substr(type.find_first_of("0123456789"))));
}

class EveryAtomic : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryAtomic, GiveTheOldValueAndStoreTheNew) {
  const std::uint64_t f64_sum = std::bit_cast<std::uint64_t>(0.75);
  const std::vector<AtomicCase> cases{
      {"add.u32", 0xffffffff, 3, 0, 2},
      {"add.s32", 5, 0xfffffffe, 0, 3},
      {"add.u64", 0xffffffffffffffff, 3, 0, 2},
      {"add.s64", 5, 0xfffffffffffffffe, 0, 3},
      {"min.u32", 5, 0xffffffff, 0, 5},
      {"min.s32", 5, 0xffffffff, 0, 0xffffffff},
      {"max.u32", 5, 0xffffffff, 0, 0xffffffff},
      {"max.s32", 5, 0xffffffff, 0, 5},
      {"min.u64", 5, 0xffffffffffffffff, 0, 5},
      {"min.s64", 5, 0xffffffffffffffff, 0, 0xffffffffffffffff},
      {"max.u64", 5, 0xffffffffffffffff, 0, 0xffffffffffffffff},
      {"max.s64", 5, 0xffffffffffffffff, 0, 5},
      {"and.b32", 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
      {"or.b32", 0xff00ff00, 0x0ff00ff0, 0, 0xfff0fff0},
      {"xor.b32", 0xff00ff00, 0x0ff00ff0, 0, 0xf0f0f0f0},
      {"and.b64", 0xff00ff0000000000, 0x0ff00ff000000000, 0, 0x0f000f0000000000},
      {"or.b64", 0xff00ff0000000000, 0x0ff00ff000000000, 0, 0xfff0fff000000000},
      {"xor.b64", 0xff00ff0000000000, 0x0ff00ff000000000, 0, 0xf0f0f0f000000000},
      {"exch.b32", 1, 2, 0, 2},
      {"exch.b64", 1, 0x200000000, 0, 0x200000000},
      {"cas.b16", 0x1234, 0x1234, 0x5678, 0x5678},
      {"cas.b16", 0x1234, 0x1235, 0x5678, 0x1234},
      {"cas.b32", 7, 7, 9, 9},
      {"cas.b32", 7, 8, 9, 7},
      {"cas.b64", 0x700000000, 0x700000000, 9, 9},
      {"inc.u32", 3, 4, 0, 4},
      {"inc.u32", 4, 4, 0, 0},
      {"dec.u32", 4, 9, 0, 3},
      {"dec.u32", 0, 9, 0, 9},
      {"dec.u32", 10, 9, 0, 9},
      {"add.f32", 0x3f000000, 0x3e800000, 0, 0x3f400000},
      {"add.f32", 0x7f800000, 0xff800000, 0, 0x7fffffff},
      {"add.f64", std::bit_cast<std::uint64_t>(0.5), std::bit_cast<std::uint64_t>(0.25), 0,
       f64_sum},
      // 1 + 2^-11 is a tie, to even; 2^-24 is the smallest subnormal.
      {"add.noftz.f16", 0x3c00, 0x1000, 0, 0x3c00},
      {"add.noftz.f16", 0x0001, 0x0001, 0, 0x0002},
      {"add.noftz.f16", 0x7c00, 0xfc00, 0, 0x7fff},
      {"add.noftz.f16x2", 0x3c000001, 0x3c000001, 0, 0x40000002},
      {"add.noftz.bf16", 0x3f80, 0x3f80, 0, 0x4000},
      {"add.noftz.bf16", 0x3f80, 0x3b80, 0, 0x3f80},
      {"add.noftz.bf16x2", 0x3f800001, 0x3f800001, 0, 0x40000002},
  };
  const std::string space = GetParam();
  for (const AtomicCase& c : cases) {
    const std::string operation = c.operation;
    const std::string type = operation.substr(operation.rfind('.') + 1);
    const unsigned bits = bits_of(type);
    const std::string b = "b" + std::to_string(bits);
    const std::string reg = bits == 64 ? "%rd" : bits == 32 ? "%r" : "%h";
    const std::string third = operation.starts_with("cas") ? ", " + reg + "7" : "";
    const std::string named = space == "generic" ? "" : "." + space;
    const bool shared = space == "shared";
    const std::string place = shared ? "word" : "%rd10";
    TestMachine machine(1);
    const auto run = [&](const std::string& instruction) {
      return machine.run(
          ".shared .align 8 .b64 word;\nmov.b64 %rd5, " + std::to_string(c.old) +
          "; mov.b64 %rd20, " + std::to_string(c.b) + "; mov.b64 %rd21, " + std::to_string(c.c) +
          ";\n" +
          (bits == 64   ? "mov.b64 %rd6, %rd20; mov.b64 %rd7, %rd21;\n"
           : bits == 32 ? "cvt.u32.u64 %r6, %rd20; cvt.u32.u64 %r7, %rd21;\n"
                        : "cvt.u16.u64 %h6, %rd20; cvt.u16.u64 %h7, %rd21;\n") +
          "mov.b64 %rd10, %rd2;\n" +
          (shared ? "st.shared.b64 [word], %rd5;\n" : "st.global.b64 [%rd10], %rd5;\n") +
          instruction + "\n" +
          (shared ? "ld.shared.b64 %rd11, [word]; st.global.b64 [%rd2], %rd11;\n" : "") + "ret;");
    };
    Outcome outcome = run("atom" + named + "." + operation + " " + reg + "4, [" + place + "], " +
                          reg + "6" + third + "; st.global." + b + " [%rd2+8], " + reg + "4;");
    ASSERT_FALSE(outcome.fault) << operation << TestMachine::describe(outcome);
    EXPECT_EQ(machine.out64(0), c.expected) << operation << " in " << space;
    EXPECT_EQ(machine.out64(0, 2), c.old) << operation << " in " << space;
    if (third.empty() && !operation.starts_with("exch")) {
      outcome = run("red" + named + "." + operation + " [" + place + "], " + reg + "6;");
      ASSERT_FALSE(outcome.fault) << operation << TestMachine::describe(outcome);
      EXPECT_EQ(machine.out64(0), c.expected) << "red." << operation << " in " << space;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spaces, EveryAtomic, ::testing::Values("generic", "global", "shared"),
                         [](const auto& space) { return std::string(space.param); });

TEST(Atomics, FlushSubnormalsInGlobalMemory) {
  // 2^-149 + 2^-149, by atom and by red, in global and in shared memory.
  TestMachine machine(1);
  const Outcome outcome = machine.run(R"(
    .shared .f32 word;
    st.global.u32 [%rd2], 1;
    atom.global.add.f32 %f1, [%rd2], 0f00000001;
    st.global.f32 [%rd2+4], %f1;
    st.global.u32 [%rd2+8], 1;
    red.global.add.f32 [%rd2+8], 0f00000001;
    st.global.u32 [%rd2+12], 1;
    atom.global.add.f32 %f2, [%rd2+12], 0f00000001;
    st.shared.u32 [word], 1;
    atom.shared.add.f32 %f3, [word], 0f00000001;
    st.global.f32 [%rd2+16], %f3;
    ld.shared.f32 %f4, [word];
    st.global.f32 [%rd2+20], %f4;
    mov.u64 %rd4, word;
    cvta.shared.u64 %rd4, %rd4;
    atom.add.f32 %f3, [%rd4], 0f00000001;
    ld.shared.f32 %f4, [word];
    st.global.f32 [%rd2+24], %f4;
    add.s64 %rd5, %rd2, 28;
    st.global.u32 [%rd2+28], 0x80000001;
    atom.add.f32 %f3, [%rd5], 0f80000001;
    st.global.f32 [%rd2+32], %f3;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0, 0), 0U);
  EXPECT_EQ(machine.out(0, 1), 1U);
  EXPECT_EQ(machine.out(0, 2), 0U);
  EXPECT_EQ(machine.out(0, 3), 0U);
  EXPECT_EQ(machine.out(0, 4), 1U);
  EXPECT_EQ(machine.out(0, 5), 2U);
  EXPECT_EQ(machine.out(0, 6), 3U);
  EXPECT_EQ(machine.out(0, 7), 0x80000000U);
  EXPECT_EQ(machine.out(0, 8), 0x80000001U);
}

TEST(Atomics, KeepASignallingNanOfF64InGlobalMemory) {
  TestMachine machine(1);
  const Outcome outcome = machine.run(R"(
    .shared .align 8 .f64 word;
    st.global.u64 [%rd2], 0x7ff0000000000001;
    atom.global.add.f64 %fd1, [%rd2], 0d3FF0000000000000;
    st.shared.u64 [word], 0x7ff0000000000005;
    atom.shared.add.f64 %fd1, [word], 0d3FF0000000000000;
    ld.shared.u64 %rd4, [word];
    st.global.u64 [%rd2+8], %rd4;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out64(0, 0), 0x7ff0000000000001U);
  EXPECT_EQ(machine.out64(0, 2), 0x7ff8000000000005U);
}

TEST(Atomics, OfVectorsAndOf128Bits) {
  TestMachine machine(1);
  const Outcome outcome = machine.run(R"(
    .reg .b128 %q<4>;
    st.global.v4.f32 [%rd2], {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
    mov.b32 %f1, 0f3F800000;
    atom.global.add.v4.f32 {%f2, %f3, %f4, %f5}, [%rd2], {%f1, %f1, %f1, %f1};
    st.global.v2.f32 [%rd2+16], {%f2, %f5};
    st.global.u32 [%rd2+24], 0x40003c00;
    mov.b16 %h1, 0x3c00;
    red.global.max.noftz.v2.f16 [%rd2+24], {%h1, %h1};
    st.global.u32 [%rd2+28], 0x40003c00;
    red.global.min.noftz.v2.bf16 [%rd2+28], {%h1, %h1};
    st.global.v2.b64 [%rd2+32], {5, 6};
    ld.global.b128 %q1, [%rd2+32];
    st.global.b128 [%rd2+48], %q1;
    atom.global.exch.b128 %q2, [%rd2], %q1;
    atom.global.cas.b128 %q3, [%rd2+32], %q1, %q2;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out64(0, 0), 5U);
  EXPECT_EQ(machine.out64(0, 2), 6U);
  EXPECT_EQ(std::bit_cast<float>(machine.out(0, 4)), 1.0F);
  EXPECT_EQ(std::bit_cast<float>(machine.out(0, 5)), 4.0F);
  EXPECT_EQ(machine.out(0, 6), 0x40003c00U);
  EXPECT_EQ(machine.out(0, 7), 0x3c003c00U);
  const std::array<float, 4> sums{2, 3, 4, 5};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::bit_cast<float>(machine.out(0, 8 + i)), sums.at(i)) << i;
  }
  EXPECT_EQ(machine.out64(0, 12), 5U);
  EXPECT_EQ(machine.out64(0, 14), 6U);
}

TEST(Atomics, ChooseTheNumberAndTheZeroBySign) {
  // Of a NaN and a number the number; of +0 and -0 by the sign.
  TestMachine machine(1);
  const Outcome outcome = machine.run(R"(
    st.global.v2.u32 [%rd2], {0x7e003c00, 0x80000000};
    mov.b16 %h1, 0x4000; mov.b16 %h2, 0x7e00; mov.b16 %h3, 0x8000; mov.b16 %h4, 0x0000;
    red.global.min.noftz.v4.f16 [%rd2], {%h2, %h1, %h3, %h4};
    st.global.v2.u32 [%rd2+8], {0x7e007e00, 0x80000000};
    red.global.max.noftz.v4.f16 [%rd2+8], {%h2, %h1, %h3, %h4};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0, 0), 0x40003c00U);
  EXPECT_EQ(machine.out(0, 1), 0x80008000U);
  EXPECT_EQ(machine.out(0, 2), 0x40007fffU);
  EXPECT_EQ(machine.out(0, 3), 0x00000000U);
}

}  // namespace
}  // namespace bitgate::machine
