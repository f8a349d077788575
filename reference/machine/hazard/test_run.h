#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>

#include "reference/machine/machine.h"

namespace bitgate::machine {

/// Runs small PTX bodies in tests of hazards.

/// One instruction a line, as compilers write them: a report names an instruction by its line.
inline std::string one_a_line(const std::string& body) {
  std::string lines;
  for (const char in : body) lines += in == ';' ? std::string(";\n") : std::string(1, in);
  return lines;
}

struct Case {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 64;
  std::uint64_t seed = 0;
  std::chrono::milliseconds time_limit{5000};
  std::uint32_t resident_blocks = 0;
};

/// The kernel has `buf` (%rd1: 4096 bytes, zero) and %r0 = tid.x, %r1 = ctaid.x, %rd2 = buf +
/// 4·tid.x, shared `s` of 4096 bytes with %r2 = s and %r3 = s + 4·tid.x, and %r4 = tid.x % 32.
inline Outcome run_body(const std::string& body, const Case& c = {}) {
  const std::string text =
      ".version 8.3\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 buf)\n{\n"
      ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .b16 %h<8>;\n"
      ".shared .align 16 .b8 s[4096];\n.shared .align 8 .b8 bar[8];\n"
      "ld.param.u64 %rd1, [buf]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n"
      "mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd1, %rd2; mov.u32 %r2, s;\n"
      "shl.b32 %r3, %r0, 2; add.s32 %r3, %r2, %r3; and.b32 %r4, %r0, 31;\n" +
      one_a_line(body) + "\nret;\n}\n";
  const Program program = Program::load(text, "test.ptx");
  GlobalMemory memory;
  const std::uint64_t buffer = memory.allocate(4096, "buf");
  Launch launch;
  launch.entry = "k";
  launch.grid = {c.blocks, 1, 1};
  launch.block = {c.threads, 1, 1};
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &buffer, 8);
  Options options;
  options.schedule_seed = c.seed;
  options.hazards.races = true;
  options.resident_blocks = c.resident_blocks;
  options.time_limit = c.time_limit;
  return run(program, launch, memory, options);
}

inline std::string describe(const Outcome& outcome) {
  std::string text;
  for (const hazard::Report& report : outcome.hazards) {
    text += std::string(hazard::name(report.kind)) + " " + report.space + " " + report.buffer +
            "+" + std::to_string(report.offset) + " bytes " + std::to_string(report.bytes) + " x" +
            std::to_string(report.count) + (report.same_value ? " same value" : "") + "\n  " +
            std::string(hazard::name(report.first.access)) + " " + report.first.site.instruction +
            " thread " + std::to_string(report.first.site.thread.x) + " block " +
            std::to_string(report.first.site.block.x) + "\n";
    if (report.second) {
      text += "  " + std::string(hazard::name(report.second->access)) + " " +
              report.second->site.instruction + " thread " +
              std::to_string(report.second->site.thread.x) + " block " +
              std::to_string(report.second->site.block.x) + "\n";
    }
    text += "  " + report.message + "\n";
  }
  if (outcome.fault) text += "fault: " + outcome.fault->message;
  return text;
}

}  // namespace bitgate::machine
