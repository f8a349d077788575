#include "reference/machine/ptx/link.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "reference/machine/machine.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/error.h"

// Programs of several PTX texts.

namespace bitgate::machine {
namespace {

const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

Outcome run_linked(const std::string& first, const std::string& second, std::uint32_t& result) {
  const std::string a = kHead + first;
  const std::string b = kHead + second;
  const std::array<PtxText, 2> texts{{{a, "a.ptx"}, {b, "b.ptx"}}};
  const Program program = Program::load(texts);
  GlobalMemory memory;
  const std::uint64_t out = memory.allocate(4, "out");
  Launch launch;
  launch.entry = "k";
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &out, 8);
  const Outcome outcome = run(program, launch, memory, {});
  memory.read(out, std::as_writable_bytes(std::span(&result, 1)));
  return outcome;
}

constexpr const char* kEntry = R"(
.extern .func (.param .b32 r) helper(.param .b32 a);
.extern .global .align 4 .u32 table[2];
.func (.param .b32 r) local(.param .b32 a) { st.param.b32 [r], 1000; ret; }
.global .u32 own = 5;
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  call (%r1), helper, (7);
  call (%r2), local, (7);
  ld.global.u32 %r3, [table+4];
  ld.global.u32 %r4, [own];
  add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
  st.global.u32 [%rd1], %r1;
  ret;
})";

constexpr const char* kHelper = R"(
.global .u32 own = 300;
.visible .global .align 4 .u32 table[2] = {10, 20};
.func (.param .b32 r) local(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a];
  mul.lo.u32 %r2, %r1, 10000; st.param.b32 [r], %r2; ret; }
.visible .func (.param .b32 r) helper(.param .b32 a) {
  .reg .b32 %r<4>;
  ld.param.b32 %r1, [a];
  call (%r2), local, (%r1);
  ld.global.u32 %r3, [own];
  add.u32 %r2, %r2, %r3;
  st.param.b32 [r], %r2;
  ret;
})";

TEST(Linking, FindsExternNamesAndKeepsLocalOnesApart) {
  std::uint32_t result = 0;
  Outcome outcome = run_linked(kEntry, kHelper, result);
  ASSERT_FALSE(outcome.fault) << outcome.fault->message;
  EXPECT_EQ(result, 70000U + 300 + 1000 + 20 + 5);
  outcome = run_linked(kHelper, kEntry, result);
  ASSERT_FALSE(outcome.fault) << outcome.fault->message;
  EXPECT_EQ(result, 70000U + 300 + 1000 + 20 + 5);
}

TEST(Linking, ReportsLinesOfTheTextTheyAreOf) {
  std::uint32_t result = 0;
  const Outcome outcome = run_linked(
      "\n\n\n.extern .func helper();\n.visible .entry k(.param .u64 out) { call helper; ret; }",
      ".visible .func helper() {\n  trap;\n}", result);
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->site.instruction, "trap");
  EXPECT_EQ(outcome.fault->site.ptx_line, 5U);
}

TEST(Linking, WeakDefinitionsYieldAndTwoOthersAreRefused) {
  const auto functions = [](const char* linkage, int value) {
    return std::string(linkage) + " .func (.param .b32 r) f() { st.param.b32 [r], " +
           std::to_string(value) + "; ret; }\n";
  };
  const std::string entry =
      ".visible .entry k(.param .u64 out) { .reg .b32 %r; .reg .b64 %rd; ld.param.u64 %rd, [out];\n"
      "call (%r), f, (); st.global.u32 [%rd], %r; ret; }\n";
  std::uint32_t result = 0;
  EXPECT_FALSE(run_linked(functions(".weak", 1) + entry, functions(".visible", 2), result).fault);
  EXPECT_EQ(result, 2U);
  EXPECT_FALSE(run_linked(functions(".weak", 1) + entry, functions(".weak", 2), result).fault);
  EXPECT_EQ(result, 1U);
  EXPECT_THROW(run_linked(functions(".visible", 1) + entry, functions(".visible", 2), result),
               InputError);
}

TEST(Linking, WhatNoModuleDefinesIsUnsupportedWhenReached) {
  std::uint32_t result = 0;
  const Outcome outcome = run_linked(kEntry, ".visible .global .u32 other;", result);
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Kind::unsupported);
}

}  // namespace
}  // namespace bitgate::machine
