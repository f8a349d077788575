#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "reference/machine/exec/test_machine.h"

namespace bitgate::machine {

/// One instruction at a time on chosen operands, with results from the PTX ISA and measurements.
struct InstructionCase {
  std::string instruction;  ///< "add.s32", on registers of the widths below
  std::string widths;       ///< destination first: 'h' 16, 'w' 32, 'd' 64, 'p' predicate as 0 or 1
  std::vector<std::uint64_t> operands;
  std::uint64_t expected;
};

inline std::uint64_t f32(float v) { return std::bit_cast<std::uint32_t>(v); }
inline std::uint64_t f64(double v) { return std::bit_cast<std::uint64_t>(v); }
inline constexpr std::uint64_t kSignalling32 = 0xff812345;

/// Runs the case in lane 5 alone and in all lanes; both must give the same.
inline std::uint64_t evaluate(const InstructionCase& c, bool masked) {
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

inline void check(const std::vector<InstructionCase>& cases) {
  for (const InstructionCase& c : cases) {
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

}  // namespace bitgate::machine
