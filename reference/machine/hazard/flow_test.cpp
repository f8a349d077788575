#include "reference/machine/hazard/flow.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "reference/machine/machine.h"
#include "reference/machine/program/decode_table.h"
#include "reference/support/random.h"

// Labels are sound: each instruction of plain lanes runs twice with the same defined bits and other
// undefined ones, and each bit of its results that changed has to be undefined.

namespace bitgate::machine {
namespace {

constexpr std::size_t kThreads = 32;
constexpr std::size_t kWords = 16;  // of 32 bits, of each thread in each buffer
constexpr std::size_t kBytes = kThreads * kWords * 4;

using Contents = std::array<std::uint32_t, kThreads * kWords>;

/// %r or %rd number i of the instruction's operands gets what `in` has where `mask` is clear and
/// what `raw` has where it is set.
std::string operand(std::size_t i, Kind kind) {
  const std::string n = std::to_string(i);
  const std::string at = "+" + std::to_string(8 * i) + "];\n";
  const std::string type = kind == Kind::b64 ? "b64" : "b32";
  const std::string r = kind == Kind::b64 ? "%rd1" : "%r1";
  std::string text = "ld.global." + type + " " + r + n + ", [%rd1" + at + "ld.global." + type +
                     " " + r + "00, [%rd2" + at + "ld.global." + type + " " + r + "01, [%rd3" + at +
                     "and." + type + " " + r + "00, " + r + "00, " + r + "01;\nnot." + type + " " +
                     r + "01, " + r + "01;\nand." + type + " " + r + n + ", " + r + n + ", " + r +
                     "01;\nor." + type + " " + r + n + ", " + r + n + ", " + r + "00;\n";
  if (kind == Kind::predicate)
    text += "and.b32 %r1" + n + ", %r1" + n + ", 1;\nsetp.ne.u32 %p1" + n + ", %r1" + n + ", 0;\n";
  return text;
}

std::string name_of(std::size_t i, Kind kind) {
  return (kind == Kind::predicate ? "%p1" : kind == Kind::b64 ? "%rd1" : "%r1") + std::to_string(i);
}

std::string program_of(const DecodeTable::Row& row) {
  std::string text =
      ".version 8.3\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 raw, .param .u64 mask, .param .u64 out)\n{\n"
      ".reg .pred %p<32>; .reg .b32 %r<120>; .reg .b64 %rd<120>;\n"
      "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [raw]; ld.param.u64 %rd3, [mask];\n"
      "ld.param.u64 %rd4, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd5, %r1, 64;\n"
      "add.s64 %rd1, %rd1, %rd5; add.s64 %rd2, %rd2, %rd5; add.s64 %rd3, %rd3, %rd5;\n"
      "add.s64 %rd4, %rd4, %rd5;\n";
  std::string instruction = row.mnemonic;
  for (std::size_t i = 0; i < row.operands.size(); ++i) {
    if (i >= row.destinations) text += operand(i, row.operands[i]);
    instruction += (i == 0                            ? " "
                    : i == 1 && row.destinations == 2 ? "|"
                                                      : ", ") +
                   name_of(i, row.operands[i]);
  }
  text += instruction + ";\n";
  for (std::size_t i = 0; i < row.destinations; ++i) {
    const Kind kind = row.operands[i];
    const std::string at = "[%rd4+" + std::to_string(8 * i) + "], ";
    if (kind == Kind::predicate) {
      text += "selp.u32 %r2, 1, 0, " + name_of(i, kind) + ";\nst.global.u32 " + at + "%r2;\n";
    } else {
      text += std::string("st.global.") + (kind == Kind::b64 ? "u64 " : "u32 ") + at +
              name_of(i, kind) + ";\n";
    }
  }
  return text + "ret;\n}\n";
}

struct Result {
  Contents values{};
  Contents undefined{};
};

Result run_with(const Program& program, const Contents& in, const Contents& raw,
                const Contents& mask) {
  GlobalMemory memory;
  std::array<std::uint64_t, 4> addresses{};
  for (std::uint64_t& address : addresses) address = memory.allocate(kBytes, "buffer");
  memory.write(addresses[0], std::as_bytes(std::span(in)));
  memory.write(addresses[1], std::as_bytes(std::span(raw)));
  memory.write(addresses[2], std::as_bytes(std::span(mask)));
  memory.set_undefined(addresses[1], kBytes);
  Launch launch;
  launch.entry = "k";
  launch.block = {kThreads, 1, 1};
  launch.parameters.resize(sizeof(addresses));
  std::memcpy(launch.parameters.data(), addresses.data(), sizeof(addresses));
  Options options;
  options.hazards.validity = true;
  const Outcome outcome = run(program, launch, memory, options);
  EXPECT_FALSE(outcome.fault) << outcome.fault->message << " at "
                              << outcome.fault->site.instruction;
  EXPECT_TRUE(outcome.hazards.empty());
  Result result;
  memory.read(addresses[3], std::as_writable_bytes(std::span(result.values)));
  const GlobalMemory::Allocation* out = memory.find(addresses[3], kBytes);
  if (out->undefined != nullptr) {
    std::memcpy(result.undefined.data(), out->undefined, kBytes);
    for (std::uint32_t& word : result.undefined) {
      if (out->undefined_at_first != std::byte{0}) word = ~word;
    }
  }
  return result;
}

std::uint32_t sparse(Random& random) {
  switch (random.next() % 5) {
    case 0:
      return 0;
    case 1:
      return 1U << (random.next() % 32);
    case 2:
      return static_cast<std::uint32_t>(random.next());
    case 3:
      return 0xffU << (8 * (random.next() % 4));
    default:
      return static_cast<std::uint32_t>(random.next() & random.next() & random.next());
  }
}

TEST(Flow, EachBitThatUndefinedBitsChangeIsUndefined) {
  std::size_t rows = 0;
  std::size_t kept = 0;
  for (const auto& [mnemonic, row] : DecodeTable::instance().rows()) {
    if (row.decoder != nullptr || !row.unsupported.empty() || row.operands.size() < 2) continue;
    const Program program = Program::load(program_of(row), "row.ptx");
    Random random(7, mnemonic);
    Contents in;
    Contents raw;
    Contents mask;
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = random.next() % 2 == 0 ? static_cast<std::uint32_t>(random.next()) : sparse(random);
      mask[i] = sparse(random);
    }
    raw.fill(0);
    const Result clear = run_with(program, in, raw, mask);
    for (std::uint32_t& word : raw) word = static_cast<std::uint32_t>(random.next());
    const Result set = run_with(program, in, raw, mask);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::uint32_t changed = clear.values[i] ^ set.values[i];
      ASSERT_EQ(changed & ~(clear.undefined[i] | set.undefined[i]), 0U)
          << mnemonic << ", thread " << i / kWords << ", word " << i % kWords;
      if (clear.undefined[i] != 0 && clear.undefined[i] != ~0U) ++kept;
    }
    ++rows;
  }
  EXPECT_GT(rows, 300U);
  EXPECT_GT(kept, 300U) << "some instructions keep defined bits beside undefined ones";
}

}  // namespace
}  // namespace bitgate::machine
