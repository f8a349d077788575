#include "reference/machine/hazard/definite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/machine/hazard/flow.h"
#include "reference/machine/hazard/successors.h"
#include "reference/machine/hazard/test_run.h"
#include "reference/machine/machine.h"
#include "reference/support/random.h"

namespace bitgate::machine {
namespace {

using hazard::FlowOperand;
using hazard::FlowTable;
using hazard::OpFlow;

/// An entry whose %r0 is the thread's number and whose %p1 differs between threads.
std::string entry(const std::string& body) {
  return ".version 8.3\n.target sm_90\n.address_size 64\n" + std::string() +
         ".visible .entry k(.param .u64 out)\n{\n"
         ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<4>;\n"
         "ld.param.u64 %rd1, [out];\nmov.u32 %r0, %tid.x;\nsetp.gt.u32 %p1, %r0, 7;\n" +
         one_a_line(body) + "\nret;\n}\n";
}

/// Whether the store of a body may read its register before anything wrote it.
bool maybe_undefined(const std::string& body, const std::string& functions = "") {
  std::string text = entry(body);
  text.insert(text.find(".visible"), functions);
  const Program program = Program::load(text, "test.ptx");
  const Code& code = program.impl().code("k");
  const FlowTable table(code);
  for (std::uint32_t pc = 0; pc < code.ops.size(); ++pc) {
    const OpFlow& flow = table[pc];
    if (flow.rule != hazard::Rule::store) continue;
    return table.registers()[table.operands(flow)[flow.definitions].number].maybe_undefined;
  }
  ADD_FAILURE() << "no store";
  return false;
}

const std::string kStore = " st.global.u32 [%rd1], %r1;";

TEST(Definite, IsByEveryWay) {
  EXPECT_TRUE(maybe_undefined(kStore));
  EXPECT_FALSE(maybe_undefined("mov.u32 %r1, 1;" + kStore));
  EXPECT_TRUE(maybe_undefined("@%p1 bra A; mov.u32 %r1, 1; A:" + kStore)) << "on one way only";
  EXPECT_FALSE(maybe_undefined("@%p1 bra A; mov.u32 %r1, 1; bra B; A: mov.u32 %r1, 2; B:" + kStore))
      << "on both";
  EXPECT_FALSE(maybe_undefined("@%p1 bra A; mov.u32 %r1, 1;" + kStore + " A:"))
      << "the other way does not read it";
  EXPECT_TRUE(maybe_undefined("add.u32 %r1, %r1, 1;" + kStore)) << "by what it reads itself";
}

TEST(Definite, AGuardMayLeaveARegisterAsItIs) {
  EXPECT_TRUE(maybe_undefined("@%p1 mov.u32 %r1, 1;" + kStore));
  EXPECT_TRUE(maybe_undefined("@%p1 mov.u32 %r1, 1; @!%p1 mov.u32 %r1, 2;" + kStore))
      << "guards are not compared";
  EXPECT_FALSE(maybe_undefined("mov.u32 %r1, 0; @%p1 mov.u32 %r1, 1;" + kStore));
  EXPECT_TRUE(maybe_undefined("@%p1" + kStore)) << "a guarded read is one";
}

TEST(Definite, GoesAroundLoops) {
  const std::string end = "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 3; @%p2 bra TOP;";
  EXPECT_FALSE(maybe_undefined("mov.u32 %r2, 0; TOP: mov.u32 %r1, %r2;" + end + kStore));
  EXPECT_TRUE(maybe_undefined("mov.u32 %r2, 0; TOP:" + kStore + "mov.u32 %r1, %r2;" + end))
      << "read in the first round, written in the next";
  EXPECT_TRUE(maybe_undefined("mov.u32 %r2, 0; TOP: @%p1 bra A; mov.u32 %r1, 1; A:" + end + kStore))
      << "written in some rounds";
}

TEST(Definite, StopsAtExits) {
  EXPECT_FALSE(maybe_undefined("@!%p1 bra A; exit; A: mov.u32 %r1, 1;" + kStore));
  EXPECT_FALSE(maybe_undefined("mov.u32 %r1, 1; @%p1 exit;" + kStore));
  EXPECT_TRUE(maybe_undefined("@%p1 bra A; mov.u32 %r1, 1; A: @!%p1 exit;" + kStore));
}

TEST(Definite, GoesToEachTargetOfAnIndexedBranch) {
  const std::string branch = "TABLE: .branchtargets A, B; and.b32 %r2, %r0, 1; brx.idx %r2, TABLE;";
  EXPECT_FALSE(
      maybe_undefined(branch + "A: mov.u32 %r1, 1; bra C; B: mov.u32 %r1, 2; C:" + kStore));
  EXPECT_TRUE(maybe_undefined(branch + "A: mov.u32 %r1, 1; B:" + kStore));
}

/// Procedures have the registers of their callers: nothing is said of them.
TEST(Definite, SaysNothingOfCodeWithProcedures) {
  const std::string fib =
      ".func (.param .b32 result) fib(.param .b32 n)\n{\n.reg .pred %q; .reg .b32 %a<4>;\n"
      "ld.param.b32 %a0, [n]; setp.lt.u32 %q, %a0, 2; @%q bra END;\n"
      "{ .param .b32 i; .param .b32 o; sub.u32 %a1, %a0, 1; st.param.b32 [i], %a1;\n"
      "call.uni (o), fib, (i); ld.param.b32 %a0, [o]; }\n"
      "END: st.param.b32 [result], %a0; ret;\n}\n";
  const std::string call =
      "{ .param .b32 i; .param .b32 o; st.param.b32 [i], %r0; call.uni (o), fib, (i);"
      "ld.param.b32 %r1, [o]; }" +
      kStore;
  EXPECT_TRUE(maybe_undefined(call, fib));
}

/// Whether a way leads from the start to a read of the register without a write of it.
bool reaches_a_read(const Code& code, const FlowTable& table, std::uint32_t number) {
  std::vector<std::uint8_t> seen(code.ops.size(), 0);
  std::vector<std::uint32_t> left;
  const auto enter = [&](std::uint32_t pc) {
    if (pc >= seen.size() || seen[pc] != 0) return;
    seen[pc] = 1;
    left.push_back(pc);
  };
  const auto is = [&](const FlowOperand& operand) { return operand.number == number; };
  enter(code.start);
  while (!left.empty()) {
    const std::uint32_t pc = left.back();
    left.pop_back();
    const OpFlow& flow = table[pc];
    const FlowOperand* operands = table.operands(flow);
    const FlowOperand* sources = operands + flow.definitions;
    if (flow.guard == number || std::any_of(sources, sources + flow.data + flow.steering, is)) {
      return true;
    }
    if (!code.ops[pc].guarded && std::any_of(operands, sources, is)) continue;
    hazard::each_successor(code, pc, enter);
  }
  return false;
}

TEST(Definite, AgreesWithASearchForEachRegister) {
  std::size_t maybe = 0;
  std::size_t never = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed, "definite");
    const auto reg = [&] { return "%r" + std::to_string(1 + random.below(8)); };
    constexpr std::uint64_t kStatements = 30;
    const auto label = [&] { return "L" + std::to_string(random.below(kStatements)); };
    std::string body = "T: .branchtargets " + label() + ", " + label() + ", " + label() + ";";
    for (std::uint64_t i = 0; i < kStatements; ++i) {
      body += "L" + std::to_string(i) + ": ";
      if (random.chance(0.3)) body += random.chance(0.5) ? "@%p1 " : "@!%p2 ";
      switch (random.below(8)) {
        case 0:
          body += "bra " + label() + ";";
          break;
        case 1:
          body += random.chance(0.3) ? "exit;" : "setp.gt.u32 %p2, " + reg() + ", 5;";
          break;
        case 2:
          body += "brx.idx " + reg() + ", T;";
          break;
        case 3:
        case 4:
          body += "add.u32 " + reg() + ", " + reg() + ", " + reg() + ";";
          break;
        case 5:
          body += "st.global.u32 [%rd1], " + reg() + ";";
          break;
        default:
          body += "mov.u32 " + reg() + ", 1;";
          break;
      }
    }
    const Program program = Program::load(entry(body), "test.ptx");
    const Code& code = program.impl().code("k");
    const FlowTable table(code);
    const std::vector<std::uint8_t> found = hazard::maybe_read_undefined(code, table);
    for (std::uint32_t n = hazard::kCarryRegister; n < found.size(); ++n) {
      if (table.registers()[n].pinned) continue;
      ASSERT_EQ(found[n] != 0, reaches_a_read(code, table, n)) << "seed " << seed << "\n" << body;
      ++(found[n] != 0 ? maybe : never);
    }
  }
  EXPECT_GT(maybe, 100U);
  EXPECT_GT(never, 100U);
}

}  // namespace
}  // namespace bitgate::machine
