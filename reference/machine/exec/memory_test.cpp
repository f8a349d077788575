#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "reference/machine/exec/test_machine.h"
#include "reference/numeric/tensor_core.h"
#include "reference/support/error.h"
#include "reference/support/random.h"

// Accesses and their faults, async copies, atomics, matrices.

namespace bitgate::machine {
namespace {

TEST(Memory, WidthsAndExtensions) {
  TestMachine machine;
  for (std::size_t t = 0; t < 32; ++t) {
    machine.in(t, 0) = 0x8091a2b3;
    machine.in(t, 1) = static_cast<std::uint32_t>(t);
  }
  const Outcome outcome = machine.run(R"(
    ld.global.nc.L1::no_allocate.L2::128B.u8 %r1, [%rd1];
    ld.global.s8 %r2, [%rd1+1];
    ld.global.s16 %r3, [%rd1+2];
    ld.global.u16 %h1, [%rd1+2];
    cvt.u32.u16 %r4, %h1;
    ld.global.s32 %rd3, [%rd1];
    ld.v2.u16 {%h2, %h3}, [%rd1];
    cvt.u32.u16 %r5, %h3;
    st.global.v4.u32 [%rd2], {%r1,%r2,%r3,%r4};
    st.global.v2.u64 [%rd2+16], {%rd3, %rd3};
    st.global.cs.u8 [%rd2+32], %r1;
    st.global.v2.u16 [%rd2+34], {%h2, %h3};
    ret;)");
  ASSERT_TRUE(outcome.fault);  // a pair of u16 at an address that is no multiple of 4
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::misaligned);
  EXPECT_EQ(outcome.fault->buffer, "out");
  EXPECT_EQ(outcome.fault->offset, 34);
  EXPECT_EQ(machine.out(7, 0), 0xb3U);
  EXPECT_EQ(machine.out(7, 1), 0xffffffa2U);
  EXPECT_EQ(machine.out(7, 2), 0xffff8091U);
  EXPECT_EQ(machine.out(7, 3), 0x8091U);
  EXPECT_EQ(machine.out64(7, 6), 0xffffffff8091a2b3U);
  EXPECT_EQ(machine.out(7, 8), 0xb3U);
}

TEST(Memory, VectorsInAnyArrangementOfLanes) {
  // Lane t reads the 16 bytes of lane 31 − t, then odd lanes alone write them.
  TestMachine machine;
  for (std::size_t t = 0; t < 32; ++t) {
    for (std::size_t w = 0; w < 4; ++w) machine.in(t, w) = static_cast<std::uint32_t>(10 * t + w);
  }
  const Outcome outcome = machine.run(R"(
    mul.lo.s32 %r1, %t2, -128;
    add.s32 %r1, %r1, 1984;
    cvt.s64.s32 %rd3, %r1;
    add.s64 %rd3, %rd1, %rd3;
    ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3];
    and.b32 %r6, %t2, 1;
    setp.eq.u32 %p1, %r6, 1;
    @%p1 st.global.v4.u32 [%rd2+16], {%r2,%r3,%r4,%r5};
    st.global.v2.u32 [%rd2], {%r4,%r5};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t, 0), 10 * (31 - t) + 2);
    EXPECT_EQ(machine.out(t, 1), 10 * (31 - t) + 3);
    EXPECT_EQ(machine.out(t, 5), t % 2 == 1 ? 10 * (31 - t) + 1 : 0U);
  }
}

struct FaultCase {
  const char* body;
  Fault::Kind kind;
  const char* space;
  std::int64_t offset;
  std::uint32_t thread;
};

TEST(Memory, FaultsSayWhereAndWhat) {
  const std::vector<FaultCase> cases{
      {"ld.global.u32 %r1, [%rd1+2048];", Fault::Kind::out_of_bounds, "global", 2048, 0},
      {"ld.global.u32 %r1, [%rd1+64];", Fault::Kind::out_of_bounds, "global", 2048, 31},
      {"ld.global.u32 %r1, [%rd1+-4];", Fault::Kind::out_of_bounds, "global", -4, 0},
      {"ld.global.v2.u32 {%r1,%r2}, [%rd1+60];", Fault::Kind::misaligned, "global", 60, 0},
      {"ld.global.u32 %r1, [%rd1+2];", Fault::Kind::misaligned, "global", 2, 0},
      {"st.global.u32 [%rd1], %r1;", Fault::Kind::read_only_write, "global", 0, 0},
      {"atom.global.add.u32 %r1, [%rd1], 1;", Fault::Kind::read_only_write, "global", 0, 0},
      {".shared .b8 s[64]; ld.shared.u32 %r1, [s+64];", Fault::Kind::out_of_bounds, "shared", 64,
       0},
      {".shared .b8 s[64]; shl.b32 %r1, %t2, 2; ld.shared.u32 %r1, [%r1];",
       Fault::Kind::out_of_bounds, "shared", 64, 16},
      {".shared .align 8 .b8 s[64]; ld.shared.u32 %r1, [s+2];", Fault::Kind::misaligned, "shared",
       2, 0},
      {".local .b8 s[16]; ld.local.u32 %r1, [s+16];", Fault::Kind::out_of_bounds, "local", 16, 0},
      {"ld.param.u32 %r1, [in+16];", Fault::Kind::out_of_bounds, "param", 16, 0},
      {".shared .align 16 .b8 s[64]; mov.u32 %r1, s; setp.eq.u32 %p1, %t2, 9; @%p1 cp.async.cg"
       ".shared.global [%r1+8], [%rd1], 16;",
       Fault::Kind::misaligned, "shared", 8, 9},
      {".shared .align 16 .b8 s[64]; mov.u32 %r1, s; cp.async.ca.shared.global [%r1], "
       "[%rd1+2036], 8;",
       Fault::Kind::misaligned, "global", 2036, 0},
      {".shared .align 16 .b8 s[64]; mov.u32 %r1, s; cp.async.ca.shared.global [%r1], [%rd1+60], "
       "4; cp.async.ca.shared.global [%r1], [%rd1+64], 4;",
       Fault::Kind::out_of_bounds, "global", 2048, 31},
      {".shared .align 16 .b8 s[64]; mov.u32 %r1, s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 "
       "{%r2}, [%r1+64];",
       Fault::Kind::out_of_bounds, "shared", 64, 0},
  };
  for (const FaultCase& c : cases) {
    TestMachine machine;
    const Outcome outcome = machine.run(std::string(c.body) + " ret;");
    ASSERT_TRUE(outcome.fault) << c.body;
    EXPECT_EQ(outcome.fault->kind, c.kind) << c.body << TestMachine::describe(outcome);
    EXPECT_EQ(outcome.fault->space, c.space) << c.body;
    EXPECT_EQ(outcome.fault->offset, c.offset) << c.body << TestMachine::describe(outcome);
    EXPECT_EQ(outcome.fault->site.thread.x, c.thread) << c.body;
    EXPECT_FALSE(outcome.fault->message.empty());
  }
}

TEST(Memory, GenericAddressesReachEverySpace) {
  TestMachine machine;
  for (std::size_t t = 0; t < 32; ++t) machine.in(t, 0) = static_cast<std::uint32_t>(t);
  const Outcome outcome = machine.run(
      R"(
    .shared .align 4 .b8 s[128];
    .local .align 4 .b8 l[4];
    mov.u64 %rd3, s;
    cvta.shared.u64 %rd4, %rd3;
    mul.wide.u32 %rd5, %t2, 4;
    add.s64 %rd4, %rd4, %rd5;
    st.u32 [%rd4], %t2;
    mov.u64 %rd6, l;
    cvta.local.u64 %rd7, %rd6;
    st.u32 [%rd7], 77;
    ld.local.u32 %r1, [l];
    // Even lanes read global memory, odd lanes shared memory, by one instruction.
    and.b32 %r2, %t2, 1;
    setp.eq.u32 %p1, %r2, 1;
    selp.b64 %rd8, %rd4, %rd1, %p1;
    ld.u32 %r3, [%rd8];
    isspacep.shared %p2, %rd8;
    selp.u32 %r4, 1, 0, %p2;
    cvta.to.shared.u64 %rd9, %rd4;
    sub.s64 %rd9, %rd9, %rd3;
    mov.u64 %rd10, table;
    cvta.const.u64 %rd11, %rd10;
    ld.u32 %r5, [%rd11+4];
    ld.const.u32 %r6, [table];
    ld.global.u32 %r7, [counter];
    st.global.v4.u32 [%rd2], {%r1, %r3, %r4, %r5};
    st.global.u64 [%rd2+16], %rd9;
    st.global.v2.u32 [%rd2+24], {%r6, %r7};
    ret;)",
      ".const .align 4 .u32 table[2] = {11, 22};\n.global .align 4 .u32 counter = 33;\n");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t, 0), 77U);
    EXPECT_EQ(machine.out(t, 1), t);
    EXPECT_EQ(machine.out(t, 2), t % 2);
    EXPECT_EQ(machine.out(t, 3), 22U);
    EXPECT_EQ(machine.out64(t, 4), 4 * t);
    EXPECT_EQ(machine.out(t, 6), 11U);
    EXPECT_EQ(machine.out(t, 7), 33U);
  }
}

TEST(Memory, ParametersByRunTimeIndexAndByGenericAddress) {
  const Program program = Program::load(R"(.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 out, .param .align 8 .b8 s[40])
{
  .reg .b32 %r<8>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  mov.b64 %rd3, s;
  add.s64 %rd4, %rd3, %rd2;
  ld.param.u32 %r2, [%rd4];
  cvta.param.u64 %rd5, %rd4;
  ld.u32 %r3, [%rd5+4];
  isspacep.param %p, %rd5;
  selp.u32 %r4, 1, 0, %p;
  add.s64 %rd6, %rd1, %rd2;
  mad.lo.u32 %r5, %r3, 100, %r2;
  mad.lo.u32 %r5, %r4, 100000, %r5;
  st.global.u32 [%rd6], %r5;
  ret;
  .reg .pred %p;
})");
  GlobalMemory memory;
  const std::uint64_t out = memory.allocate(36, "out");
  Launch launch;
  launch.entry = "k";
  launch.block = {9, 1, 1};
  launch.parameters.resize(48);
  std::memcpy(launch.parameters.data(), &out, 8);
  for (std::uint32_t i = 0; i < 10; ++i) {
    std::memcpy(launch.parameters.data() + 8 + 4 * std::size_t{i}, &i, 4);
  }
  ASSERT_FALSE(run(program, launch, memory, {}).fault);
  std::array<std::uint32_t, 9> values{};
  memory.read(out, std::as_writable_bytes(std::span(values)));
  for (std::uint32_t i = 0; i < 9; ++i) EXPECT_EQ(values.at(i), 100000 + 100 * (i + 1) + i);
}

TEST(Memory, AFunctionIndexesItsOwnParameters) {
  TestMachine machine;
  const Outcome outcome = machine.run(
      R"(
    { .param .align 4 .b8 a[16]; .param .b32 i; .param .b32 r;
      st.param.v4.b32 [a], {11, 22, 33, 44};
      and.b32 %r1, %t2, 3;
      st.param.b32 [i], %r1;
      call (r), f, (a, i);
      ld.param.b32 %r2, [r]; }
    st.global.u32 [%rd2], %r2;
    ret;)",
      R"(
.func (.param .b32 r) f(.param .align 4 .b8 a[16], .param .b32 i)
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.b32 %r1, [i];
  mul.wide.u32 %rd1, %r1, 4;
  mov.b64 %rd2, a;
  add.s64 %rd3, %rd2, %rd1;
  ld.param.u32 %r2, [%rd3];
  st.param.b32 [r], %r2;
  ret;
}
)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), 11 * (t % 4 + 1));
}

TEST(Memory, SignedBytesInSixteenBits) {
  TestMachine machine(1);
  machine.in(0, 0) = 0x80;
  const Outcome outcome = machine.run(R"(
    ld.global.s8 %h1, [%rd1];
    mov.b32 %r1, {%h1, %h1};
    setp.eq.u16 %p1, %h1, 0xff80;
    selp.u32 %r2, 1, 0, %p1;
    st.global.v2.u32 [%rd2], {%r1, %r2};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0, 0), 0xff80ff80U);
  EXPECT_EQ(machine.out(0, 1), 1U);
}

TEST(Memory, InitialisersOfConstantsHoldAddressesAndParts) {
  TestMachine machine(1);
  const Outcome outcome = machine.run(
      R"(
    ld.const.u64 %rd3, [pointers];
    ld.global.u32 %r1, [%rd3];
    ld.const.u64 %rd4, [pointers+8];
    ld.u32 %r2, [%rd4];
    ld.const.u64 %rd5, [pointers+16];
    ld.const.u32 %r3, [%rd5];
    ld.global.u8 %r4, [low];
    ld.global.u8 %r5, [low+1];
    st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};
    shl.b32 %r5, %r5, 8;
    or.b32 %r5, %r5, %r4;
    cvt.u32.u64 %r6, %rd3;
    and.b32 %r6, %r6, 0xffff;
    st.global.v2.u32 [%rd2+16], {%r5, %r6};
    ret;)",
      ".global .align 4 .u32 values[3] = {10, 20, 30};\n.const .align 4 .u32 fixed[2] = {7, 8};\n"
      ".const .align 8 .u64 pointers[3] = {values+4, generic(fixed)+4, fixed};\n"
      ".global .align 1 .b8 low[2] = {0xff(values+4), 0xff00(values+4)};\n");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0, 0), 20U);
  EXPECT_EQ(machine.out(0, 1), 8U);
  EXPECT_EQ(machine.out(0, 2), 7U);
  EXPECT_EQ(machine.out(0, 4), machine.out(0, 5));
}

TEST(Memory, AccessesOf128Bits) {
  TestMachine machine;
  for (std::size_t t = 0; t < 32; ++t) {
    machine.in64(t, 0, t);
    machine.in64(t, 2, 100 + t);
  }
  const Outcome outcome = machine.run(R"(
    .reg .b128 %q<3>;
    .shared .align 16 .b8 s[512];
    ld.global.b128 %q1, [%rd1];
    shl.b32 %r1, %t2, 4;
    mov.u32 %r2, s;
    add.u32 %r2, %r2, %r1;
    st.shared.b128 [%r2], %q1;
    xor.b32 %r2, %r2, 16;
    bar.warp.sync -1;
    setp.lt.u32 %p1, %t2, 20;
    @%p1 ld.shared.b128 %q1, [%r2];
    st.b128 [%rd2], %q1;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    const std::size_t from = t < 20 ? t ^ 1 : t;
    EXPECT_EQ(machine.out64(t, 0), from);
    EXPECT_EQ(machine.out64(t, 2), 100 + from);
  }
}

TEST(Memory, AccessPatternsOfAllWidthsAgreeWithLaneByLane) {
  // Consecutive, strided, all the same, backwards and scattered; each width; with and without
  // all lanes. Lane t reads element perm(t) and writes it to its own place.
  const char* patterns[] = {"mov.u32 %r1, %t2;", "mul.lo.u32 %r1, %t2, 4; rem.u32 %r1, %r1, 31;",
                            "mov.u32 %r1, 5;", "sub.u32 %r1, 31, %t2;",
                            "mul.lo.u32 %r1, %t2, 13; and.b32 %r1, %r1, 31;"};
  const auto index = [](int pattern, std::uint32_t t) -> std::uint32_t {
    switch (pattern) {
      case 0:
        return t;
      case 1:
        return t * 4 % 31;
      case 2:
        return 5;
      case 3:
        return 31 - t;
      default:
        return t * 13 & 31U;
    }
  };
  struct Width {
    const char* type;
    const char* registers;
    std::uint32_t bytes;
  };
  const Width widths[] = {{"u8", "%r10", 1},
                          {"u16", "%r10", 2},
                          {"u32", "%r10", 4},
                          {"u64", "%rd10", 8},
                          {"v2.u32", "{%r10,%r11}", 8},
                          {"v4.u32", "{%r10,%r11,%r12,%r13}", 16},
                          {"v2.u64", "{%rd10,%rd11}", 16}};
  for (int pattern = 0; pattern < 5; ++pattern) {
    for (const Width& width : widths) {
      for (const bool all : {true, false}) {
        for (const char* space : {"global", "shared"}) {
          TestMachine machine;
          for (std::size_t t = 0; t < 32; ++t) {
            for (std::size_t w = 0; w < 16; ++w) {
              machine.in(t, w) = static_cast<std::uint32_t>(0x01010101 * (t + 1) + w * 0x10203);
            }
          }
          const bool shared = std::string(space) == "shared";
          const std::string type = width.type;
          const std::string bytes = std::to_string(width.bytes);
          const Outcome outcome = machine.run(
              std::string(".shared .align 16 .b8 s[2048];\n") + patterns[pattern] +
              "mov.u32 %r2, s; shl.b32 %r3, %t2, 6; add.u32 %r3, %r3, %r2;\n"
              "sub.s64 %rd3, %rd1, %td0; mov.u32 %r6, 0;\n"
              // The input as it lies, into shared memory.
              "COPY: ld.global.v4.u32 {%r20,%r21,%r22,%r23}, [%rd1];\n"
              "st.shared.v4.u32 [%r3], {%r20,%r21,%r22,%r23};\n"
              "add.s64 %rd1, %rd1, 16; add.u32 %r3, %r3, 16; add.u32 %r6, %r6, 1;\n"
              "setp.lt.u32 %p1, %r6, 4; @%p1 bra COPY;\n"
              "bar.warp.sync -1; setp.lt.u32 %p2, %t2, " +
              (all ? "32" : "17") + ";\nmul.lo.u32 %r4, %r1, " + bytes +
              "; cvt.u64.u32 %rd4, %r4; add.s64 %rd3, %rd3, %rd4; add.u32 %r4, %r4, %r2;\n" +
              "@%p2 ld." + space + "." + type + " " + width.registers + ", [" +
              (shared ? "%r4" : "%rd3") + "];\n" + "@%p2 st.global." + type + " [%rd2], " +
              width.registers + ";\nret;");
          ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
          std::vector<std::byte> input(2048);
          for (std::size_t t = 0; t < 32; ++t) {
            for (std::size_t w = 0; w < 16; ++w) {
              const std::uint32_t word = machine.in(t, w);
              std::memcpy(&input[64 * t + 4 * w], &word, 4);
            }
          }
          for (std::uint32_t t = 0; t < 32; ++t) {
            std::array<std::uint32_t, 4> expected{};
            if (all || t < 17) {
              std::memcpy(expected.data(), &input[std::size_t{index(pattern, t)} * width.bytes],
                          width.bytes);
            }
            for (std::size_t w = 0; w < 4; ++w) {
              ASSERT_EQ(machine.out(t, w), expected.at(w))
                  << type << " " << space << " pattern " << pattern << " lane " << t;
            }
          }
        }
      }
    }
  }
}

TEST(Memory, ALaunchMayUseManyGigabytesWithoutTouchingThem) {
  const Program program = Program::load(R"(.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 big, .param .u64 step)
{
  .reg .b32 %r<4>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [big]; ld.param.u64 %rd2, [step];
  mov.u32 %r1, %ctaid.x;
  cvt.u64.u32 %rd3, %r1;
  mul.lo.u64 %rd4, %rd3, %rd2;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.u32 %r2, [%rd5];
  add.u32 %r2, %r2, %r1;
  st.global.u32 [%rd5], %r2;
  ret;
})");
  GlobalMemory memory;
  const std::uint64_t step = std::uint64_t{1} << 30;
  const std::uint64_t big = memory.allocate(16 * step, "big");
  Launch launch;
  launch.entry = "k";
  launch.grid = {16, 1, 1};
  launch.parameters.resize(16);
  std::memcpy(launch.parameters.data(), &big, 8);
  std::memcpy(launch.parameters.data() + 8, &step, 8);
  ASSERT_FALSE(run(program, launch, memory, {}).fault);
  for (std::uint32_t i = 0; i < 16; ++i) {
    std::uint32_t value = 0;
    memory.read(big + i * step, std::as_writable_bytes(std::span(&value, 1)));
    EXPECT_EQ(value, i);
  }
}

TEST(Memory, ModuleVariablesKeepTheirValueBetweenLaunches) {
  const Program program = Program::load(
      ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 n = 5;\n"
      ".entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [out];\n"
      "atom.global.add.u32 %r1, [n], 1; st.global.u32 [%rd1], %r1; ret; }\n");
  GlobalMemory memory;
  const std::uint64_t out = memory.allocate(4, "out");
  Launch launch;
  launch.entry = "k";
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &out, 8);
  for (std::uint32_t expected = 5; expected < 8; ++expected) {
    ASSERT_FALSE(run(program, launch, memory, {}).fault);
    std::uint32_t value = 0;
    memory.read(out, std::as_writable_bytes(std::span(&value, 1)));
    EXPECT_EQ(value, expected);
  }
}

TEST(Memory, SparseAllocationsOfManyGigabytes) {
  GlobalMemory memory;
  const std::uint64_t bytes = std::uint64_t{8} << 30;
  const std::uint64_t big = memory.allocate(bytes, "big");
  const std::uint64_t other = memory.allocate(64, "other", 256, 4);
  EXPECT_EQ(other % 256, 4U);
  EXPECT_GT(other - (big + bytes), std::uint64_t{8} << 30);
  const std::uint32_t word = 0x12345678;
  memory.write(big + bytes - 4, std::as_bytes(std::span(&word, 1)));
  std::uint32_t back = 0;
  memory.read(big + bytes - 4, std::as_writable_bytes(std::span(&back, 1)));
  EXPECT_EQ(back, word);
  memory.read(big + bytes / 2, std::as_writable_bytes(std::span(&back, 1)));
  EXPECT_EQ(back, 0U);
  EXPECT_THROW(memory.read(big + bytes - 2, std::as_writable_bytes(std::span(&back, 1))),
               InputError);
  EXPECT_NE(memory.describe(big + bytes + 16).find("16 bytes past the end of 'big'"),
            std::string::npos);
  EXPECT_NE(memory.describe(big - 8).find("8 bytes before the start of 'big'"), std::string::npos);
  memory.release(big);
  EXPECT_EQ(memory.find(big, 1), nullptr);
  EXPECT_THROW(memory.release(big), InputError);
  EXPECT_THROW(memory.allocate(std::uint64_t{1} << 62, "huge"), std::bad_alloc);
  EXPECT_THROW(memory.allocate(16, "odd", 48), InputError);
}

constexpr const char* kCopyBody = R"(
    .shared .align 16 .b8 s[1024];
    mov.u32 %r1, s;
    shl.b32 %r2, %t2, 4;
    add.u32 %r3, %r1, %r2;
    st.shared.v4.u32 [%r3], {9,9,9,9};
    cp.async.cg.shared.global [%r3], [%rd1], 16;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r3+512], [%rd1+16], 8, 4;
    cp.async.commit_group;
    ld.shared.u32 %r4, [%r3];
    cp.async.wait_group 1;
    ld.shared.u32 %r5, [%r3+4];
    ld.shared.u32 %r6, [%r3+512];
    cp.async.wait_all;
    ld.shared.v2.u32 {%r7, %r8}, [%r3+512];
    st.global.v4.u32 [%rd2], {%r4,%r5,%r6,%r7};
    st.global.u32 [%rd2+16], %r8;
    ret;)";

TEST(AsyncCopies, LandAtTheWaitOrAtOnce) {
  bool lazy_seen = false;
  bool eager_seen = false;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    TestMachine machine;
    machine.options.schedule_seed = seed;
    for (std::size_t t = 0; t < 32; ++t) {
      for (std::size_t w = 0; w < 16; ++w) {
        machine.in(t, w) = static_cast<std::uint32_t>(100 * t + w + 1);
      }
    }
    const Outcome outcome = machine.run(kCopyBody);
    ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
    for (std::size_t t = 0; t < 32; ++t) {
      EXPECT_EQ(machine.out(t, 1), 100 * t + 2);
      EXPECT_EQ(machine.out(t, 3), 100 * t + 5);
      EXPECT_EQ(machine.out(t, 4), 0U);  // beyond the source size: zero
    }
    // Before the waits either is possible; the schedule decides.
    const bool lazy = machine.out(3, 0) == 9U;
    EXPECT_EQ(machine.out(3, 2), lazy ? 0xffffffffU : 305U);
    (lazy ? lazy_seen : eager_seen) = true;
    if (seed == 0) {
      EXPECT_TRUE(lazy);
    }
  }
  EXPECT_TRUE(lazy_seen && eager_seen);
}

TEST(AsyncCopies, SourceSizeZeroReadsNothing) {
  TestMachine machine;
  Outcome outcome = machine.run(R"(
    .shared .align 16 .b8 s[16];
    mov.u32 %r1, s;
    mov.u64 %rd3, 0;
    cp.async.cg.shared.global [%r1], [%rd3], 16, 0;
    cp.async.wait_all;
    ld.shared.u32 %r2, [%r1+12];
    st.global.u32 [%rd2], %r2;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0), 0U);
  // The last 4 bytes of the buffer, as the source of a copy of 16.
  outcome = machine.run(R"(
    .shared .align 16 .b8 s[16];
    mov.u32 %r1, s;
    setp.eq.u32 %p1, %t2, 31;
    @%p1 cp.async.cg.shared.global [%r1], [%rd1+48], 16, 17;
    ret;)");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::out_of_bounds);
}

TEST(Atomics, RunLaneAfterLane) {
  TestMachine machine(64, 4);
  const Outcome outcome = machine.run(
      R"(
    .shared .u32 count;
    setp.eq.u32 %p1, %t2, 0;
    @%p1 st.shared.u32 [count], 0;
    bar.sync 0;
    atom.shared.add.u32 %r1, [count], 2;
    red.global.max.s32 [highest], %t3;
    atom.global.cas.b32 %r2, [lock], 0, 5;
    atom.global.inc.u32 %r3, [wrap], 2;
    atom.global.exch.b64 %rd4, [wide], %rd2;
    red.global.add.f32 [total], 0f3F000000;
    bar.sync 0;
    ld.shared.u32 %r4, [count];
    st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};
    setp.eq.u32 %p2, %t3, 255;
    @!%p2 bra END;
WAIT:
    ld.volatile.global.u32 %r5, [arrived];
    setp.ne.u32 %p3, %r5, 255;
    @%p3 bra WAIT;
    ld.global.u32 %r6, [highest];
    ld.global.f32 %f1, [total];
    st.global.u32 [%rd2+16], %r6;
    st.global.f32 [%rd2+20], %f1;
    ret;
END:
    red.release.gpu.global.add.u32 [arrived], 1;
    ret;)",
      ".global .u32 highest; .global .u32 lock; .global .u32 wrap; .global .u64 wide;\n"
      ".global .f32 total; .global .u32 arrived;\n");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  // Which warp comes first is the schedule's; within one, lanes go in order, and each block's
  // values are all different.
  std::vector<std::uint32_t> counts;
  std::uint32_t unlocked = 0;
  std::array<std::uint32_t, 3> wraps{};
  for (std::size_t t = 0; t < 256; ++t) {
    if (t < 64) counts.push_back(machine.out(t, 0));
    if (t % 32 != 0) {
      EXPECT_EQ(machine.out(t, 0), machine.out(t - 1, 0) + 2);
    }
    unlocked += machine.out(t, 1) == 0 ? 1 : 0;
    ASSERT_LT(machine.out(t, 2), 3U);
    ++wraps[machine.out(t, 2)];
  }
  std::sort(counts.begin(), counts.end());
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(counts[i], 2 * i);
  EXPECT_EQ(unlocked, 1U);
  EXPECT_EQ(wraps, (std::array<std::uint32_t, 3>{86, 85, 85}));
  EXPECT_EQ(machine.out(200, 3), 128U);
  EXPECT_EQ(machine.out(255, 4), 255U);
  EXPECT_EQ(std::bit_cast<float>(machine.out(255, 5)), 128.0F);
}

TEST(Matrices, LdmatrixRowsAndTransposes) {
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    .shared .align 16 .b8 s[512];
    mov.u32 %r1, s;
    // Element (matrix, row, column) = 100·matrix + 10·row + column, in 16 bits.
    shl.b32 %r2, %t2, 4;
    add.u32 %r2, %r1, %r2;
    shr.u32 %r3, %t2, 3;
    and.b32 %r4, %t2, 7;
    mul.lo.s32 %r3, %r3, 100;
    mad.lo.s32 %r3, %r4, 10, %r3;
    mad.lo.s32 %r5, %r3, 0x10001, 0x10000;
    add.u32 %r6, %r5, 0x20002;
    add.u32 %r7, %r6, 0x20002;
    add.u32 %r8, %r7, 0x20002;
    st.shared.v4.b32 [%r2], {%r5,%r6,%r7,%r8};
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r9,%r10,%r11,%r12}, [%r2];
    ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r13,%r14}, [%r2];
    movmatrix.sync.aligned.m8n8.trans.b16 %r15, %r9;
    st.global.v4.u32 [%rd2], {%r9,%r10,%r11,%r12};
    st.global.v4.u32 [%rd2+16], {%r13,%r14,%r15,%r15};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::uint32_t t = 0; t < 32; ++t) {
    const std::uint32_t row = t / 4;
    const std::uint32_t column = t % 4 * 2;
    for (std::uint32_t m = 0; m < 4; ++m) {
      const std::uint32_t low = 100 * m + 10 * row + column;
      EXPECT_EQ(machine.out(t, m), (low + 1) << 16 | low);
    }
    for (std::uint32_t m = 0; m < 2; ++m) {
      const std::uint32_t low = 100 * m + 10 * column + row;
      EXPECT_EQ(machine.out(t, 4 + m), (low + 10) << 16 | low);
    }
    EXPECT_EQ(machine.out(t, 6), machine.out(t, 4));
  }
}

/// Runs one mma whose A registers are words 0 to 3, B 4 and 5, C 6 to 9 of each lane's input, and
/// compares with the scalar tensor model.
void check_mma(const numeric::TensorModel& model, numeric::ScalarType type, bool k8,
               std::uint64_t seed) {
  Random random(seed);
  const bool bfloat = type == numeric::ScalarType::bf16;
  TestMachine machine;
  machine.options.tensor_model = &model;
  std::array<std::array<std::uint16_t, 16>, 16> a{};
  std::array<std::array<std::uint16_t, 16>, 8> b{};
  std::array<std::array<float, 8>, 16> c{};
  const auto element = [&] {
    // Exponents near each other, so that sums cancel and truncate.
    const std::uint32_t e = bfloat ? 120 + static_cast<std::uint32_t>(random.below(16))
                                   : 8 + static_cast<std::uint32_t>(random.below(16));
    const auto bits = static_cast<std::uint32_t>(random.next());
    return static_cast<std::uint16_t>(
        (bits & 0x8000U) | (bfloat ? e << 7 | (bits & 0x7fU) : e << 10 | (bits & 0x3ffU)));
  };
  const std::size_t depth = k8 ? 8 : 16;
  for (auto& row : a) {
    for (std::size_t k = 0; k < depth; ++k) row[k] = element();
  }
  for (auto& row : b) {
    for (std::size_t k = 0; k < depth; ++k) row[k] = element();
  }
  for (auto& row : c) {
    for (float& v : row) v = static_cast<float>(random.uniform() - 0.5) * 64;
  }
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t g = lane / 4;
    const std::size_t t = lane % 4;
    const auto pair = [](const std::uint16_t* p) {
      return static_cast<std::uint32_t>(p[1]) << 16 | p[0];
    };
    machine.in(lane, 0) = pair(&a[g][2 * t]);
    machine.in(lane, 1) = pair(&a[g + 8][2 * t]);
    machine.in(lane, 2) = pair(&a[g][2 * t + 8]);
    machine.in(lane, 3) = pair(&a[g + 8][2 * t + 8]);
    machine.in(lane, 4) = pair(&b[g][2 * t]);
    machine.in(lane, 5) = pair(&b[g][2 * t + 8]);
    for (std::size_t i = 0; i < 4; ++i) {
      machine.in(lane, 6 + i) = std::bit_cast<std::uint32_t>(c[g + i / 2 * 8][2 * t + i % 2]);
    }
  }
  const std::string shape = k8 ? "m16n8k8" : "m16n8k16";
  const std::string name = bfloat ? "bf16" : "f16";
  const Outcome outcome = machine.run(
      "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1]; ld.global.v2.u32 {%r5,%r6}, [%rd1+16];\n"
      "ld.global.v2.f32 {%f1,%f2}, [%rd1+24]; ld.global.v2.f32 {%f3,%f4}, [%rd1+32];\n"
      "mma.sync.aligned." +
      shape + ".row.col.f32." + name + "." + name +
      ".f32 "
      "{%f1,%f2,%f3,%f4}, " +
      (k8 ? "{%r1,%r2}, {%r5}" : "{%r1,%r2,%r3,%r4}, {%r5,%r6}") +
      ", {%f1,%f2,%f3,%f4};\nst.global.v4.f32 [%rd2], {%f1,%f2,%f3,%f4}; ret;");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(outcome.tensor_instructions, 1U);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t m = lane / 4 + i / 2 * 8;
      const std::size_t n = lane % 4 * 2 + i % 2;
      const float expected =
          numeric::tensor_core_dot16(model, type, a[m].data(), b[n].data(), c[m][n]);
      EXPECT_EQ(machine.out(lane, i), std::bit_cast<std::uint32_t>(expected)) << m << " " << n;
    }
  }
}

TEST(Matrices, MmaFollowsTheTensorModel) {
  for (const numeric::TensorModel& model : numeric::tensor_models()) {
    check_mma(model, numeric::ScalarType::f16, false, 1);
    check_mma(model, numeric::ScalarType::bf16, false, 2);
  }
  check_mma(numeric::tensor_model("hopper"), numeric::ScalarType::f16, true, 3);
}

TEST(Matrices, NeedTheWholeWarp) {
  TestMachine machine(16);
  const Outcome outcome = machine.run(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
      "{%r5,%r6}, {%f1,%f2,%f3,%f4}; ret;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::inactive_lane);
}

}  // namespace
}  // namespace bitgate::machine
