#include "reference/machine/vectors/random_program.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <span>
#include <string>

#include "reference/machine/vectors/kernel.h"
#include "reference/machine/vectors/program_recording.h"
#include "reference/machine/vectors/test_run.h"
#include "reference/support/error.h"
#include "reference/support/file.h"
#include "reference/support/sha256.h"

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

/// The bits that an H200 gave, for the first of the programs that were compared there.
TEST(RandomProgram, TheMachineGivesTheBitsOfTheRecordedPrograms) {
  const auto recording = parse_program_recording(read_text_file(
      std::filesystem::path(BITGATE_SOURCE_DIR) / "reference/machine/vectors/h200.programs"));
  EXPECT_GE(recording.programs.size(), 200U);
  for (const auto& recorded : recording.programs) {
    const RandomProgram program(recorded.seed);
    const std::string entry =
        program.entry(std::string(kProgramEntry), recording.threads, program.emission());
    ASSERT_EQ(sha256(entry), recorded.text_sha256)
        << "program " << recorded.seed
        << " is another one than was recorded (the forms changed): record again on a GPU";
    const Program loaded = Program::load(module_header() + entry, "program.ptx");
    const auto in = program.inputs(recording.threads);
    const TestRun run = test_run(loaded, std::string(kProgramEntry), recording.threads,
                                 recording.threads, in, in.size());
    EXPECT_EQ(run.failure, "") << recorded.seed;
    EXPECT_EQ(sha256(std::as_bytes(std::span(run.words))), recorded.out_sha256) << recorded.seed;
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
