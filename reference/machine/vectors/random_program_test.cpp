#include "reference/machine/vectors/random_program.h"

#include <gtest/gtest.h>

#include <string>

#include "reference/machine/vectors/program_recording.h"
#include "reference/support/error.h"

namespace bitgate::machine::vectors {
namespace {

TEST(RandomProgram, HasFiftyInstructionsBranchesAndLoops) {
  std::size_t branches = 0;
  std::size_t loops = 0;
  std::size_t guards = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const RandomProgram program(seed);
    EXPECT_GE(program.instructions(), 50U);
    const std::string text = program.entry("p", 64, program.emission());
    EXPECT_EQ(text, RandomProgram(seed).entry("p", 64, program.emission()));
    branches += text.find("$else") != std::string::npos;
    loops += text.find("$loop") != std::string::npos;
    guards +=
        text.find("\n  @%q") != std::string::npos || text.find("\n  @!%q") != std::string::npos;
  }
  EXPECT_GE(branches, 50U);
  EXPECT_GE(loops, 50U);
  EXPECT_GE(guards, 50U);
}

TEST(RandomProgram, LeavesOutStatements) {
  const RandomProgram program(3);
  RandomProgram::Emission emission = program.emission();
  const std::string whole = program.text(emission);
  for (std::size_t id = 0; id < program.statements(); ++id) emission.without.insert(id);
  EXPECT_EQ(program.text(emission), "");
  emission.without.erase(0);
  EXPECT_LT(program.text(emission).size(), whole.size());
}

TEST(RandomProgram, NothingItIsMadeOfIsLeftToTheCompiler) {
  for (const std::string& mnemonic : RandomProgram::mnemonics()) {
    EXPECT_EQ(mnemonic.find(".approx"), std::string::npos) << mnemonic;
    EXPECT_FALSE(mnemonic == "add.f32" || mnemonic == "mul.f32" || mnemonic == "mul.ftz.f32" ||
                 mnemonic == "sub.f16x2" || mnemonic == "mul.bf16")
        << mnemonic;
  }
}

TEST(ProgramRecording, ComesBackFromItsText) {
  const ProgramRecording recording{
      .device = "a device", .threads = 64, .programs = {{1, "abc", "def"}, {9, "12", "34"}}};
  const ProgramRecording back = parse_program_recording(serialise(recording));
  EXPECT_EQ(back.device, "a device");
  EXPECT_EQ(back.threads, 64U);
  ASSERT_EQ(back.programs.size(), 2U);
  EXPECT_EQ(back.programs[1].seed, 9U);
  EXPECT_EQ(back.programs[1].out_sha256, "34");
  EXPECT_THROW(parse_program_recording("something else"), InputError);
  EXPECT_THROW(parse_program_recording(serialise(recording) + "no number\n"), InputError);
}

}  // namespace
}  // namespace bitgate::machine::vectors
