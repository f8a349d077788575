#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "reference/machine/exec/print_format.h"
#include "reference/machine/exec/test_machine.h"
#include "reference/machine/program/code.h"

// Procedures, calls through registers, the stack, and the system's functions.

namespace bitgate::machine {
namespace {

constexpr const char* kFibonacci = R"(
.func (.param .b32 result) fib(.param .b32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  ld.param.u32 %r8, [n];
  setp.lt.s32 %p1, %r8, 2;
  @%p1 bra DONE;
  add.s32 %r4, %r8, -1;
  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r4;
    call.uni (b), fib, (a);
    ld.param.b32 %r5, [b];
  }
  add.s32 %r6, %r8, -2;
  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r6;
    call.uni (b), fib, (a);
    ld.param.b32 %r7, [b];
  }
  add.s32 %r8, %r7, %r5;
DONE:
  st.param.b32 [result], %r8;
  ret;
}
)";

TEST(Procedures, RecurseInEachLaneByItself) {
  TestMachine machine(40);
  const Outcome outcome = machine.run(R"(
    add.u32 %r1, %t2, 1000;
    setp.lt.u32 %p2, %t2, 14;
    mov.u32 %r2, 77;
    {
      .param .b32 a; .param .b32 b;
      st.param.b32 [a], %t2;
      @%p2 call (b), fib, (a);
      @%p2 ld.param.b32 %r2, [b];
    }
    activemask.b32 %r3;
    st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %t2};
    ret;)",
                                      kFibonacci);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  const std::array<std::uint32_t, 14> fibonacci{0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233};
  for (std::size_t t = 0; t < 40; ++t) {
    EXPECT_EQ(machine.out(t, 0), t + 1000);
    EXPECT_EQ(machine.out(t, 1), t < 14 ? fibonacci.at(t) : 77U) << t;
    // Lanes that return from the call meet those that did not call.
    EXPECT_EQ(machine.out(t, 2), t < 32 ? 0xffffffffU : 0xffU);
    EXPECT_EQ(machine.out(t, 3), t);
  }
}

TEST(Procedures, CallEachOtherAndKeepRegistersOfEveryKind) {
  // even(n) = n == 0 ? 1 : odd(n - 1); each adds what it kept in registers over the call.
  const auto function = [](const char* self, const char* other, int base) {
    return std::string(".visible .func (.param .b64 r) ") + self + R"((.param .b32 n)
{
  .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .pred %p<4>; .reg .f64 %fd<2>;
  ld.param.u32 %r1, [n];
  setp.eq.u32 %p1, %r1, 0;
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p2, %r2, 1;
  mov.u64 %rd1, )" +
           std::to_string(base) + R"(;
  @%p1 bra DONE;
  mul.wide.u32 %rd2, %r1, 100;
  sub.u32 %r3, %r1, 1;
  { .param .b32 a; .param .b64 b;
    st.param.b32 [a], %r3;
    call (b), )" +
           other +
           R"(, (a);
    ld.param.b64 %rd3, [b]; }
  add.s64 %rd1, %rd2, %rd3;
  @%p2 add.s64 %rd1, %rd1, 1;
DONE:
  st.param.b64 [r], %rd1;
  ret;
}
)";
  };
  const std::string functions = ".visible .func (.param .b64 r) odd(.param .b32 n);\n" +
                                function("even", "odd", 7) + function("odd", "even", 9);
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    { .param .b32 a; .param .b64 b;
      st.param.b32 [a], %t2;
      call (b), even, (a);
      ld.param.b64 %rd3, [b]; }
    st.global.u64 [%rd2], %rd3;
    ret;)",
                                      functions);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::uint64_t t = 0; t < 32; ++t) {
    // The sum of 100·k for k up to t, one for each odd k, and what the last one started with.
    const std::uint64_t expected = 50 * t * (t + 1) + (t + 1) / 2 + (t % 2 == 0 ? 7 : 9);
    EXPECT_EQ(machine.out64(t), expected) << t;
  }
}

TEST(Procedures, HaveLocalVariablesOfTheirOwnInEachCall) {
  // down(n, p): x = 10·n; calls down(n − 1, &x); then *p += x. Each x is another place.
  const char* function = R"(
.func down(.param .b32 n, .param .b64 p)
{
  .local .align 4 .b8 x[8];
  .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .pred %p<2>;
  ld.param.u32 %r1, [n];
  ld.param.u64 %rd1, [p];
  mul.lo.u32 %r2, %r1, 10;
  st.local.u32 [x+4], %r2;
  mov.u64 %rd2, x;
  add.s64 %rd3, %rd2, 4;
  cvta.local.u64 %rd4, %rd3;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  sub.u32 %r3, %r1, 1;
  { .param .b32 a; .param .b64 b;
    st.param.b32 [a], %r3;
    st.param.b64 [b], %rd4;
    call down, (a, b); }
DONE:
  ld.u32 %r4, [%rd1];
  ld.local.u32 %r5, [%rd3];
  add.u32 %r4, %r4, %r5;
  st.u32 [%rd1], %r4;
  ret;
}
)";
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    .local .align 4 .b8 total[4];
    mov.u64 %rd3, total;
    cvta.local.u64 %rd4, %rd3;
    st.local.u32 [total], 1;
    { .param .b32 a; .param .b64 b;
      st.param.b32 [a], %t2;
      st.param.b64 [b], %rd4;
      call down, (a, b); }
    ld.local.u32 %r1, [total];
    st.global.u32 [%rd2], %r1;
    ret;)",
                                      function);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), 1 + 10 * t * (t + 1) / 2) << t;
}

TEST(Procedures, AStackThatIsFullIsAFault) {
  TestMachine machine;
  const Outcome outcome = machine.run(
      "setp.eq.u32 %p1, %t2, 5; @%p1 call f; ret;",
      ".func f() { .local .b8 x[100]; .reg .b32 %r; ld.local.u8 %r, [x]; call f; ret; }\n");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::out_of_bounds);
  EXPECT_EQ(outcome.fault->space, "local");
  EXPECT_EQ(outcome.fault->site.thread.x, 5U);
  EXPECT_NE(outcome.fault->message.find("stack overflow"), std::string::npos);
}

TEST(Procedures, ExitEndsTheThreadFromWithin) {
  TestMachine machine;
  const Outcome outcome = machine.run(
      R"(
    { .param .b32 a;
      st.param.b32 [a], %t2;
      call f, (a); }
    st.global.u32 [%rd2], 3;
    ret;)",
      R"(
.func f(.param .b32 n) {
  .reg .b32 %r<2>; .reg .pred %p<3>;
  ld.param.u32 %r1, [n];
  setp.lt.u32 %p1, %r1, 4;
  @%p1 exit;
  setp.lt.u32 %p2, %r1, 10;
  @%p2 ret;
  sub.u32 %r1, %r1, 10;
  { .param .b32 a; st.param.b32 [a], %r1; call f, (a); }
  ret;
}
)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), t % 10 < 4 ? 0U : 3U) << t;
}

constexpr const char* kOperations = R"(
.visible .func (.param .b32 r) sum(.param .b32 a, .param .b32 b);
.visible .func (.param .b32 r) product(.param .b32 a, .param .b32 b);
.visible .func (.param .b32 r) one(.param .b32 a);
.global .align 8 .u64 table[2] = {sum, product};
.const .align 8 .u64 constants[3] = {0, product, generic(table)};
.visible .func (.param .b32 r) sum(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<4>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; add.u32 %r3, %r1, %r2;
  st.param.b32 [r], %r3; ret; }
.visible .func (.param .b32 r) product(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<4>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; mul.lo.u32 %r3, %r1, %r2;
  st.param.b32 [r], %r3; ret; }
.visible .func (.param .b32 r) one(.param .b32 a) { st.param.b32 [r], 1; ret; }
)";

std::string indirect_call(const std::string& address) {
  return R"(
    and.b32 %r1, %t2, 1;
    mul.wide.u32 %rd3, %r1, 8;
    mov.u64 %rd4, table;
    add.s64 %rd5, %rd4, %rd3;
    ld.global.u64 %rd6, [%rd5];
    ld.const.u64 %rd7, [constants+8];
    ld.const.u64 %rd9, [constants+16];
    ld.u64 %rd10, [%rd9];
    mov.u64 %rd8, one;
    { .param .b32 a; .param .b32 b; .param .b32 c;
      st.param.b32 [a], %t2;
      st.param.b32 [b], 5;
      P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
      call (c), )" +
         address + R"(, (a, b), P;
      ld.param.b32 %r2, [c]; }
    st.global.u32 [%rd2], %r2;
    ret;)";
}

TEST(IndirectCalls, GoWhereEachLanesRegisterSays) {
  TestMachine machine;
  Outcome outcome = machine.run(indirect_call("%rd6"), kOperations);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), t % 2 == 0 ? t + 5 : t * 5) << t;
  outcome = machine.run(indirect_call("%rd7"), kOperations);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), t * 5) << t;
  outcome = machine.run(indirect_call("%rd10"), kOperations);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(machine.out(t), t + 5) << t;
}

TEST(IndirectCalls, ToWhatIsNoSuchFunctionAreFaults) {
  TestMachine machine;
  Outcome outcome = machine.run(indirect_call("%rd2"), kOperations);
  ASSERT_TRUE(outcome.fault);
  EXPECT_NE(outcome.fault->message.find("no function"), std::string::npos);
  outcome = machine.run(indirect_call("%rd8"), kOperations);
  ASSERT_TRUE(outcome.fault);
  EXPECT_NE(outcome.fault->message.find("'one'"), std::string::npos) << outcome.fault->message;
}

TEST(Calls, PassRegistersAndImmediates) {
  TestMachine machine;
  const Outcome outcome = machine.run(
      "call (%r1), f, (%t2, 7); call (%r2), g, (%t2, 7); st.global.v2.u32 [%rd2], {%r1, %r2}; ret;",
      R"(
.func (.reg .b32 r) f(.reg .b32 a, .reg .b32 b)
{ .reg .pred %p; setp.eq.u32 %p, a, 3; mov.u32 r, 9; @%p ret; sub.u32 r, a, b; }
.func (.param .b32 r) g(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<4>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; sub.u32 %r3, %r2, %r1;
  st.param.b32 [r], %r3; ret; }
)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t, 0), t == 3 ? 9 : t - 7) << t;
    EXPECT_EQ(machine.out(t, 1), 7 - t) << t;
  }
}

TEST(Calls, AWideTreeOfCallsIsNotExpanded) {
  // Each of 40 functions calls the next one twice: expanded, 2^40 copies.
  std::string functions;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    const std::string next = std::to_string(i + 1);
    functions = ".func (.param .b32 r) f" + n + "(.param .b32 a)\n{ .reg .b32 %r<4>; " +
                "ld.param.b32 %r1, [a]; st.param.b32 [r], %r1;\n" +
                (i == 39 ? ""
                         : "setp.eq.u32 %p, %r1, 40; @%p bra END;\n"
                           "{ .param .b32 x; .param .b32 y; add.u32 %r1, %r1, 1; st.param.b32 [x], "
                           "%r1; call (y), f" +
                               next +
                               ", (x); ld.param.b32 %r2, [y]; st.param.b32 "
                               "[r], %r2; setp.lt.u32 %p, %r2, 100; @%p bra END; call (y), f" +
                               next + ", (x); }\n") +
                (i == 39 ? "" : "END:\n") + "ret; }\n" + functions;
    const std::size_t at = functions.find(".reg .b32 %r<4>;");
    functions.insert(at, ".reg .pred %p; ");
  }
  // Callees first.
  std::string ordered;
  for (int i = 39; i >= 0; --i) {
    const std::string head = ".func (.param .b32 r) f" + std::to_string(i) + "(";
    const std::size_t begin = functions.find(head);
    const std::size_t end = functions.find(".func", begin + 1);
    ordered += functions.substr(begin, end - begin);
  }
  TestMachine machine;
  const Outcome outcome =
      machine.run("call (%r1), f0, (1); st.global.u32 [%rd2], %r1; ret;", ordered);
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  EXPECT_EQ(machine.out(0), 40U);
}

TEST(Stack, AllocaGivesEachLaneItsBytes) {
  TestMachine machine;
  Outcome outcome = machine.run(R"(
    cvt.u64.u32 %rd3, %t2;
    add.s64 %rd3, %rd3, 1;
    stacksave.u64 %rd9;
    alloca.u64 %rd4, %rd3, 16;
    alloca.u64 %rd5, 8, 64;
    sub.s64 %rd6, %rd5, %rd4;
    add.s64 %rd7, %rd4, %rd3;
    st.local.u8 [%rd7+-1], %t2;
    st.local.u64 [%rd5], %rd3;
    cvta.local.u64 %rd8, %rd7;
    ld.u8 %r1, [%rd8+-1];
    and.b64 %rd7, %rd5, 63;
    stackrestore.u64 %rd9;
    alloca.u64 %rd10, 8, 16;
    sub.s64 %rd10, %rd10, %rd4;
    st.global.u32 [%rd2], %r1;
    st.global.u64 [%rd2+8], %rd7;
    st.global.u64 [%rd2+16], %rd6;
    st.global.u64 [%rd2+24], %rd10;
    ret;)");
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t), t);
    EXPECT_EQ(machine.out64(t, 2), 0U);
    EXPECT_GE(machine.out64(t, 4), t + 1);
    EXPECT_EQ(machine.out64(t, 6), 0U);
  }
  outcome = machine.run("LOOP: alloca.u64 %rd3, 1024; bra LOOP;");
  ASSERT_TRUE(outcome.fault);
  EXPECT_NE(outcome.fault->message.find("stack overflow"), std::string::npos);
  outcome = machine.run("stackrestore.u64 %rd2; ret;");
  ASSERT_TRUE(outcome.fault);
}

TEST(Stack, IsFreedByTheReturnOfTheFunctionThatTookIt) {
  TestMachine machine;
  const Outcome outcome = machine.run(
      "mov.u32 %r1, 0; LOOP: call f; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 500; @%p1 bra "
      "LOOP; ret;",
      ".func f() { .reg .b64 %rd<2>; alloca.u64 %rd1, 1024; ret; }\n");
  EXPECT_FALSE(outcome.fault) << TestMachine::describe(outcome);
}

/// printf("<format>", …) of a body that stored the arguments in `args`.
std::string print_module(const std::string& format) {
  std::string bytes;
  for (const char c : format) bytes += std::to_string(static_cast<int>(c)) + ", ";
  return ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
         ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
         ".param .b64 e);\n.extern .func (.param .b64 p) malloc(.param .b64 n);\n"
         ".extern .func free(.param .b64 p);\n"
         ".global .align 1 .b8 format[" +
         std::to_string(format.size() + 1) + "] = {" + bytes +
         "0};\n"
         ".global .align 1 .b8 word[6] = {104, 101, 108, 108, 111, 0};\n";
}

TEST(SystemCalls, PrintInTheOrderOfBlocksWarpsAndLanes) {
  const std::string body = R"(
    .local .align 8 .b8 args[32];
    and.b32 %r1, %t2, 31;
    setp.lt.u32 %p1, %r1, 2;
    @!%p1 bra END;
    st.local.u32 [args], %t3;
    st.local.u64 [args+8], 0x4000000000000000;
    mov.u64 %rd3, word;
    cvta.global.u64 %rd3, %rd3;
    st.local.u64 [args+16], %rd3;
    mov.u64 %rd4, args;
    cvta.local.u64 %rd4, %rd4;
    mov.u64 %rd5, format;
    cvta.global.u64 %rd5, %rd5;
    { .param .b64 a; .param .b64 b; .param .b32 c;
      st.param.b64 [a], %rd5;
      st.param.b64 [b], %rd4;
      call.uni (c), vprintf, (a, b);
      ld.param.b32 %r2, [c]; }
    st.global.u32 [%rd2], %r2;
END:
    ret;)";
  std::string expected;
  for (const char* t : {"0", "1", "32", "33", "64", "65", "96", "97"}) {
    expected += std::string(t) + " 2.0 hello\n";
  }
  for (const std::uint32_t threads : {1U, 3U}) {
    TestMachine machine(64, 2);
    machine.options.threads = threads;
    const Outcome outcome = machine.run(body, print_module("%d %.1f %s\n"));
    ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
    EXPECT_EQ(outcome.printed, expected);
    EXPECT_EQ(machine.out(0), 3U);
  }
}

TEST(SystemCalls, FormatsAreThoseOfC) {
  const auto print = [](const std::string& format, std::vector<std::uint64_t> values) {
    std::size_t next = 0;
    PrintArguments arguments;
    arguments.number = [&](std::uint32_t bytes) {
      const std::uint64_t value = values.at(next++);
      return bytes == 4 ? value & 0xffffffffU : value;
    };
    arguments.string = [](std::uint64_t) { return std::string("text"); };
    std::string out;
    const std::uint32_t count = print_formatted(format, arguments, out);
    return out + "|" + std::to_string(count);
  };
  EXPECT_EQ(print("100%% %i%%", {0xfffffffe}), "100% -2%|1");
  EXPECT_EQ(print("%5d|%-5d|%05u|%+d", {1, 2, 3, 4}), "    1|2    |00003|+4|4");
  EXPECT_EQ(print("%lld %lu %x %#X %o", {~0ULL, ~0ULL, 255, 255, 8}),
            "-1 18446744073709551615 ff 0XFF 10|5");
  EXPECT_EQ(print("%hhd %hu", {0x80, 0x12345}), "-128 9029|2");
  EXPECT_EQ(print("%c%c %10s|%.2s", {65, 66, 1, 1}), "AB       text|te|4");
  EXPECT_EQ(print("%*d %.*f", {4, 7, 1, 0x3ff8000000000000}), "   7 1.5|4");
  EXPECT_EQ(print("%g %e %a %p", {0x3fe0000000000000, 0x3fe0000000000000, 0x3fe0000000000000, 16}),
            "0.5 5.000000e-01 0x1p-1 0x10|4");
  EXPECT_EQ(print("%q %n %", {1, 2}), "%q %n %|0");
  EXPECT_EQ(print("%s", {0}), "(null)|1");
}

TEST(SystemCalls, AFailedAssertionNamesItsPlace) {
  TestMachine machine;
  const Outcome outcome = machine.run(R"(
    mov.u64 %rd5, word;
    cvta.global.u64 %rd5, %rd5;
    setp.eq.u32 %p1, %t2, 6;
    { .param .b64 a; .param .b32 b;
      st.param.b64 [a], %rd5;
      st.param.b32 [b], 42;
      @%p1 call.uni __assertfail, (a, a, b, a, a); }
    ret;)",
                                      print_module(""));
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::trap);
  EXPECT_EQ(outcome.fault->message, "assertion `hello` failed at hello:42 in hello");
  EXPECT_EQ(outcome.fault->site.thread.x, 6U);
}

TEST(SystemCalls, TheHeapHasBounds) {
  const auto body = [](const std::string& use) {
    return R"(
    { .param .b64 a; .param .b64 b;
      st.param.b64 [a], 16;
      call.uni (b), malloc, (a);
      ld.param.b64 %rd3, [b]; }
    st.u32 [%rd3+12], %t2;
    ld.u32 %r1, [%rd3+12];
    st.global.u32 [%rd2], %r1;
    { .param .b64 a; st.param.b64 [a], %rd3; call.uni free, (a); }
    { .param .b64 a; .param .b64 b;
      st.param.b64 [a], 9000000;
      call.uni (b), malloc, (a);
      ld.param.b64 %rd4, [b]; }
    st.global.u64 [%rd2+8], %rd4;
)" + use + " ret;";
  };
  TestMachine machine;
  Outcome outcome = machine.run(body(""), print_module(""));
  ASSERT_FALSE(outcome.fault) << TestMachine::describe(outcome);
  for (std::size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(machine.out(t), t);
    EXPECT_EQ(machine.out64(t, 2), 0U);
  }
  outcome = machine.run(body("ld.u32 %r1, [%rd3];"), print_module(""));
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::out_of_bounds);
  outcome = machine.run(body("{ .param .b64 a; st.param.b64 [a], %rd3; call.uni free, (a); }"),
                        print_module(""));
  ASSERT_TRUE(outcome.fault);
}

}  // namespace
}  // namespace bitgate::machine
