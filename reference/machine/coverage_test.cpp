#include "reference/machine/coverage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "reference/machine/machine.h"
#include "reference/support/error.h"

namespace bitgate::machine {
namespace {

// Lines count from 1: the body begins in line 8.
constexpr const char* kModule = R"(.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 8;
  @%p1 bra LOW;
  add.u32 %r2, %r1, 1;
  bra DONE;
LOW:
  add.u32 %r2, %r1, 2;
  setp.gt.u32 %p2, %r1, 1000;
  @%p2 add.u32 %r2, %r2, 3;
  @%p2 bra NEVER;
DONE:
  bar.sync 0;
  ret;
NEVER:
  trap;
})";

Coverage::Lines lines_of(std::uint32_t threads, int times = 1) {
  const Program program = Program::load(kModule, "k.ptx");
  GlobalMemory memory;
  Coverage coverage;
  Launch launch;
  launch.entry = "k";
  launch.block = {threads, 1, 1};
  launch.grid = {2, 1, 1};
  launch.parameters.resize(8);
  Options options;
  options.coverage = &coverage;
  options.threads = 4;
  for (int i = 0; i < times; ++i) EXPECT_FALSE(run(program, launch, memory, options).fault);
  return coverage.entries.at("k");
}

TEST(Coverage, CountsInstructionsAndTheirLanes) {
  const Coverage::Lines lines = lines_of(64);
  EXPECT_EQ(lines.size(), 13U) << "every instruction, executed or not, and the end";
  // mov: four warps, all lanes.
  EXPECT_EQ(lines.at(7).executions, 4U);
  EXPECT_EQ(lines.at(7).partial, 0U);
  EXPECT_EQ(lines.at(7).threads, 128U);
  EXPECT_EQ(lines.at(7).lanes_off, 0U);
  // The branch is taken by lanes 0 to 7 of the first warp of each block.
  EXPECT_EQ(lines.at(9).executions, 2U);
  EXPECT_EQ(lines.at(9).skipped, 2U);
  EXPECT_EQ(lines.at(9).lanes_on, 0xffU);
  EXPECT_EQ(lines.at(13).executions, 2U);
  EXPECT_EQ(lines.at(13).partial, 2U);
  EXPECT_EQ(lines.at(13).lanes_on, 0xffU);
  EXPECT_EQ(lines.at(13).lanes_off, 0xffffff00U);
  // Guarded, and no lane's guard holds.
  EXPECT_EQ(lines.at(15).executions, 0U);
  EXPECT_EQ(lines.at(15).skipped, 2U);
  EXPECT_EQ(lines.at(18).executions, 4U);
  EXPECT_EQ(lines.at(21).executions, 0U);
  EXPECT_EQ(lines.at(21).skipped, 0U);
}

TEST(Coverage, RunsAddUp) {
  const Coverage::Lines once = lines_of(64);
  const Coverage::Lines thrice = lines_of(64, 3);
  for (const auto& [line, count] : once) {
    EXPECT_EQ(thrice.at(line).executions, 3 * count.executions);
    EXPECT_EQ(thrice.at(line).lanes_on, count.lanes_on);
  }
  // A block of 20 threads has lanes off everywhere.
  EXPECT_EQ(lines_of(20).at(7).lanes_off, 0xfff00000U);
}

TEST(Coverage, IsNotTogetherWithHazards) {
  const Program program = Program::load(kModule, "k.ptx");
  GlobalMemory memory;
  Coverage coverage;
  Launch launch;
  launch.entry = "k";
  launch.parameters.resize(8);
  Options options;
  options.coverage = &coverage;
  options.hazards = hazard::Options::all();
  EXPECT_THROW(run(program, launch, memory, options), InputError);
}

}  // namespace
}  // namespace bitgate::machine
