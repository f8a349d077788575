#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "reference/machine/exec/test_machine.h"
#include "reference/machine/program/code.h"
#include "reference/machine/program/decode_table.h"
#include "reference/support/error.h"

// What a module is decoded to: layouts, registers, the table; and that no text breaks it.

namespace bitgate::machine {
namespace {

const char* const kHeader = ".version 8.0\n.target sm_80\n.address_size 64\n";

TEST(Programs, LayOutParametersByTheirAlignment) {
  const Program program = Program::load(
      std::string(kHeader) +
      ".entry first(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[20], "
      ".param .f32 e) { ret; }\n.entry second() { ret; }\n");
  EXPECT_EQ(program.entries(), (std::vector<std::string>{"first", "second"}));
  const auto slots = program.parameters("first");
  ASSERT_EQ(slots.size(), 5U);
  const std::vector<std::uint32_t> offsets{0, 8, 16, 32, 52};
  for (std::size_t i = 0; i < offsets.size(); ++i) EXPECT_EQ(slots[i].offset, offsets[i]) << i;
  EXPECT_EQ(slots[3].bytes, 20U);
  EXPECT_EQ(slots[3].alignment, 16U);
  EXPECT_TRUE(program.parameters("second").empty());
  EXPECT_THROW(program.parameters("third"), InputError);
}

TEST(Programs, GiveEachEntryTheSharedMemoryThatItReaches) {
  const Program program = Program::load(std::string(kHeader) + R"(
.shared .align 4 .b8 small[12];
.shared .align 64 .b8 large[1000];
.extern .shared .align 128 .b8 dynamic[];
.func inner() { .reg .b32 %r; ld.shared.u32 %r, [small]; ret; }
.entry first() { .reg .b32 %r<2>; mov.u32 %r0, large; mov.u32 %r1, dynamic; call inner; ret; }
.entry second() { .shared .b8 own[7]; .reg .b32 %r0; mov.u32 %r0, own; ret; }
)");
  EXPECT_EQ(program.static_shared_bytes("first"), 1064U);
  EXPECT_EQ(program.impl().code("first").dynamic_shared_offset, 1152U);
  EXPECT_EQ(program.static_shared_bytes("second"), 7U);
}

TEST(Programs, RegistersThatAreNeverLiveTogetherShareAPlace) {
  // A chain of 500 registers, each used once; and as many that all live to the end.
  std::string chain = "mov.u32 %a0, %tid.x;\n";
  std::string all = "mov.u32 %a0, %tid.x;\n";
  for (int i = 1; i < 500; ++i) {
    const std::string n = std::to_string(i);
    const std::string before = std::to_string(i - 1);
    chain += "add.u32 %a" + n + ", %a" + before + ", %a" + before + ";\n";
    all += "add.u32 %a" + n + ", %a0, " + n + ";\n";
  }
  std::string sum = "mov.u32 %r1, 0;\n";
  for (int i = 0; i < 500; ++i) sum += "add.u32 %r1, %r1, %a" + std::to_string(i) + ";\n";
  const auto bytes = [](const std::string& body) {
    return Program::load(TestMachine::module(".reg .b32 %a<500>;\n" + body + "ret;"))
        .impl()
        .code("k")
        .register_bytes;
  };
  EXPECT_LT(bytes(chain), 8U << 10);
  EXPECT_GT(bytes(all + sum), 500U * 128);
}

TEST(Programs, ARegisterLivesThroughTheLoopThatReadsIt) {
  // %r1 is read at the top of each turn; %r3 must not take its place below.
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    mov.u32 %r1, 1000;
    mov.u32 %r2, 0;
    mov.u32 %r5, 0;
LOOP:
    add.u32 %r5, %r5, %r1;
    add.u32 %r3, %r2, 7;
    add.u32 %r4, %r3, %r3;
    add.u32 %r5, %r5, %r4;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 4;
    @%p1 bra LOOP;
    st.global.u32 [%rd2], %r5;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0), 4U * 1000 + 2 * (7 + 8 + 9 + 10));
}

TEST(Programs, AGuardedDefinitionKeepsTheOldValueElsewhere) {
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    setp.lt.u32 %p1, %t2, 8;
    mov.u32 %r1, 5;
    add.u32 %r2, %t2, 1;
    @%p1 mov.u32 %r1, %r2;
    add.u32 %r3, %r2, 1;
    st.global.v2.u32 [%rd2], {%r1, %r3};
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), t < 8 ? t + 1 : 5);
}

TEST(Programs, InnerScopesHideOuterNames) {
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    mov.u32 %r1, 1;
    {
      .reg .b32 %r<4>;
      mov.u32 %r1, 2;
      st.global.u32 [%rd2], %r1;
      {
        .reg .b64 x;
        mov.u64 x, 3;
        st.global.u64 [%rd2+8], x;
      }
    }
    st.global.u32 [%rd2+4], %r1;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0, 0), 2U);
  EXPECT_EQ(machine.out(0, 1), 1U);
  EXPECT_EQ(machine.out64(0, 2), 3U);
}

TEST(Programs, GlobalInitialisersHoldAddresses) {
  TestMachine machine;
  const Outcome outcome = machine.run(
      "ld.global.u64 %rd3, [pointer]; ld.global.u32 %r1, [%rd3]; st.global.u32 [%rd2], %r1; ret;",
      ".global .align 4 .u32 values[3] = {10, 20, 30};\n.global .u64 pointer = values+8;\n");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0), 30U);
}

TEST(Programs, DeclarationsAreBounded) {
  const auto load = [](const std::string& text) { return Program::load(kHeader + text); };
  EXPECT_THROW(load(".entry k() { .reg .b32 %r<4000000000>; ret; }"), InputError);
  EXPECT_THROW(load(".entry k() { .local .b8 x[4000000]; ret; }"), InputError);
  EXPECT_THROW(load(".shared .b8 x[400000000]; .entry k() { .reg .b32 %r; mov.u32 %r, x; ret; }"),
               InputError);
  EXPECT_THROW(load(".const .b8 x[400000000]; .entry k() { ret; }"), InputError);
  EXPECT_THROW(load(".entry k(.param .b8 x[40000]) { ret; }"), InputError);
  EXPECT_THROW(Program::load(".version 8.0\n.target sm_80\n.address_size 32\n.entry k() { ret; }"),
               InputError);
}

TEST(DecodeTableRows, AreCompleteAndSayWhyNot) {
  const auto& rows = DecodeTable::instance().rows();
  std::size_t supported = 0;
  for (const auto& [mnemonic, row] : rows) {
    EXPECT_EQ(mnemonic, row.mnemonic);
    if (!row.unsupported.empty()) continue;
    ++supported;
    EXPECT_TRUE(row.decoder != nullptr || (row.full != nullptr && row.masked != nullptr))
        << mnemonic;
  }
  EXPECT_GT(supported, 1000U);
  EXPECT_EQ(DecodeTable::instance().find("frobnicate.s32", "frobnicate"), nullptr);
}

/// A module that has a little of everything, for mutation.
std::string everything() {
  return TestMachine::module(R"(
    .shared .align 16 .b8 s[512];
    .shared .align 8 .b64 bar;
    .local .align 4 .b8 l[8];
    .reg .b128 %q<2>;
    mov.u32 %r1, s;
    ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1];
    shl.b32 %r6, %t2, 4;
    add.u32 %r7, %r1, %r6;
    cp.async.cg.shared.global [%r7], [%rd1], 16, 12;
    cp.async.commit_group;
    cp.async.wait_group 0;
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r8,%r9,%r10,%r11}, [%r7];
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r8,%r9,%r10,%r11}, {%r2,%r3}, {%f1,%f2,%f3,%f4};
    shfl.sync.bfly.b32 %r12|%p1, %r2, 1, 31, -1;
    @%p1 add.rn.f16x2 %r13, %r12, %r3;
    setp.lt.and.s32 %p2|%p3, %r2, %r3, %p1;
    @%p2 bra SKIP;
    st.local.u32 [l+4], %r13;
    lop3.b32 %r14, %r2, %r3, %r4, 0xea;
    bfi.b32 %r15, %r14, %r2, 3, 5;
    mov.b64 %rd5, {%r14, %r15};
    and.b32 %r16, %r2, 1;
TABLE: .branchtargets SKIP, END;
    brx.idx %r16, TABLE;
SKIP:
    cvt.rn.f16.f32 %h1, %f1;
    { .param .b32 x; st.param.b32 [x], %r2; call f, (x); }
    { .param .b32 n; .param .b64 r; st.param.b32 [n], 3; call (r), down, (n);
      ld.param.b64 %rd6, [r]; }
    ld.global.u64 %rd7, [table+8];
    { .param .b32 n; .param .b64 r; st.param.b32 [n], %t2;
      P: .callprototype (.param .b64 _) _ (.param .b32 _);
      call (r), %rd7, (n), P; }
    mov.u64 %rd8, word;
    cvta.global.u64 %rd8, %rd8;
    { .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd8; st.param.b64 [b], %rd8;
      call (c), vprintf, (a, b); }
    { .param .b64 a; .param .b64 b; st.param.b64 [a], 16; call (b), malloc, (a);
      ld.param.b64 %rd9, [b]; st.param.b64 [a], %rd9; call free, (a); }
    alloca.u64 %rd10, 64, 16;
    st.local.u32 [%rd10+8], %r2;
    setp.eq.u32 %p4, %t2, 0;
    @%p4 mbarrier.init.shared.b64 [bar], 32;
    bar.warp.sync -1;
    mbarrier.arrive.shared.b64 %rd11, [bar];
    mbarrier.test_wait.shared.b64 %p5, [bar], %rd11;
    ld.global.b128 %q1, [%rd1];
    st.shared.b128 [%r7], %q1;
    atom.global.add.noftz.f16x2 %r18, [counter], %r3;
    red.shared.max.s32 [%r7], %r3;
    elect.sync %r19|%p6, -1;
    atom.global.add.u32 %r17, [counter], 1;
END:
    st.global.v2.u32 [%rd2], {%r14, %r17};
    ret;)",
                             R"(.global .u32 counter;
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 p) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.global .align 8 .b8 word[8] = {37, 100, 37, 115, 0};
.visible .func (.param .b64 r) down(.param .b32 n);
.global .align 8 .u64 table[2] = {word, down};
.const .align 8 .u64 same[1] = {table};
.func f(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; ret; }
.visible .func (.param .b64 r) down(.param .b32 n) {
  .local .align 8 .b8 x[16]; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;
  ld.param.b32 %r1, [n]; mov.b64 %rd1, x; st.local.b64 [x+8], %rd1; setp.eq.u32 %p, %r1, 0;
  @%p ret; sub.u32 %r2, %r1, 1;
  { .param .b32 m; .param .b64 q; st.param.b32 [m], %r2; call (q), down, (m);
    ld.param.b64 %rd2, [q]; }
  st.param.b64 [r], %rd2; ret; }
)");
}

TEST(HostileText, NeverCrashesTheDecoderOrTheRun) {
  const std::string original = everything();
  {
    TestMachine machine;
    GlobalMemory memory;
    const Program program = Program::load(original);
    for (const DebugLine& line : program.impl().code("k").debug) {
      EXPECT_EQ(line.unsupported, "") << line.instruction;
    }
  }
  EXPECT_TRUE(rc::check("mutations", [&] {
    std::string text = original;
    const int changes = *rc::gen::inRange(1, 4);
    for (int i = 0; i < changes; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const auto other = *rc::gen::inRange<std::size_t>(0, text.size());
      const auto length = *rc::gen::inRange<std::size_t>(1, 12);
      switch (*rc::gen::inRange(0, 5)) {
        case 0:
          text[at] = static_cast<char>(text[at] ^ 1 << *rc::gen::inRange(0, 7));
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(other, length));
          break;
        case 3:
          // Digits are registers, offsets, sizes and counts.
          for (std::size_t k = at; k < text.size(); ++k) {
            if (text[k] >= '0' && text[k] <= '9') {
              text[k] = static_cast<char>('0' + *rc::gen::inRange(0, 10));
              break;
            }
          }
          break;
        default:
          std::swap(text[at], text[other]);
          break;
      }
    }
    RC_LOG(text);
    try {
      const Program program = Program::load(text, "hostile");
      for (const std::string& entry : program.entries()) {
        GlobalMemory memory;
        Launch launch;
        launch.entry = entry;
        launch.block = {32, 1, 1};
        std::size_t bytes = 0;
        for (const ParameterSlot& slot : program.parameters(entry)) {
          bytes = slot.offset + slot.bytes;
        }
        launch.parameters.resize(bytes);
        const std::uint64_t in = memory.allocate(2048, "in");
        const std::uint64_t out = memory.allocate(2048, "out");
        if (bytes >= 16) {
          std::memcpy(launch.parameters.data(), &in, 8);
          std::memcpy(launch.parameters.data() + 8, &out, 8);
        }
        Options options;
        options.time_limit = std::chrono::milliseconds(20);
        const Outcome outcome = run(program, launch, memory, options);
        if (outcome.fault) {
          RC_ASSERT(!outcome.fault->message.empty());
        }
      }
    } catch (const InputError&) {
      RC_SUCCEED("refused");
    } catch (const Unsupported&) {
      RC_SUCCEED("refused");
    }
  }));
}

}  // namespace
}  // namespace bitgate::machine
