#include "ci/suite/explore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "ci/suite/exec_launch.h"
#include "conformance/run_case.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::suite {
namespace {

const std::filesystem::path kKernels =
    std::filesystem::path(BITGATE_SOURCE_DIR) / "reference/machine/hazard/kernels";

ExploreOutcome explore_kernel(const std::string& name, bool right, std::uint64_t schedules = 30,
                              std::uint64_t first_seed = 1) {
  ExploreOptions options;
  options.schedules = schedules;
  options.first_seed = first_seed;
  options.launch.time_limit = std::chrono::milliseconds(300);
  std::optional<std::filesystem::path> ptx;
  if (right) ptx = kKernels / (name + ".right.ptx");
  return explore(kKernels / (name + ".json"), ptx, options);
}

TEST(Explore, FindsTwoSeedsForWhatDependsOnTheSchedule) {
  for (const char* name : {"float_atomics", "half_atomics", "last_arriver_keeps_its_own",
                           "taint_atomic_result", "taint_lock"}) {
    SCOPED_TRACE(name);
    const ExploreOutcome outcome = explore_kernel(name, false);
    EXPECT_EQ(outcome.verdict, "fail");
    EXPECT_EQ(exit_code(outcome), 1);
    EXPECT_TRUE(outcome.failures.empty());
    EXPECT_GT(outcome.distinct, 1U);
    ASSERT_TRUE(outcome.divergence);
    EXPECT_EQ(outcome.divergence->buffer, "out");
    EXPECT_EQ(outcome.divergence->first_seed, 0U);
    EXPECT_NE(outcome.divergence->first_value, outcome.divergence->second_value);

    // The seeds alone give the two outputs again.
    const auto hash = [&](std::uint64_t seed) {
      const auto device = kernels::make_machine_device(numeric::tensor_model("hopper"));
      ExecOptions options;
      options.launch.schedule_seed = seed;
      const ExecResult result =
          exec_launch_file(kKernels / (std::string(name) + ".json"), *device, options);
      return result.document.at("outputs").at("out").at("sha256").get<std::string>();
    };
    EXPECT_NE(hash(outcome.divergence->first_seed), hash(outcome.divergence->second_seed));
    EXPECT_NE(
        outcome.replay(7).find(std::string("bitgate exec ") + (kKernels / name).string() + ".json"),
        std::string::npos);
    EXPECT_TRUE(outcome.replay(7).ends_with(" --schedule 7"));
  }
}

TEST(Explore, FindsNoneWhereThereIsNone) {
  for (const char* name : {"float_atomics", "last_arriver_keeps_its_own", "taint_lock",
                           "ticket_order", "copy_wait_off_by_one_4_stages"}) {
    SCOPED_TRACE(name);
    const ExploreOutcome outcome = explore_kernel(name, true);
    EXPECT_EQ(outcome.verdict, "pass") << outcome.message;
    EXPECT_EQ(exit_code(outcome), 0);
    EXPECT_EQ(outcome.ran, 31U);
    EXPECT_EQ(outcome.distinct, 1U);
    EXPECT_FALSE(outcome.divergence);
  }
}

TEST(Explore, EarlyAndLateCopiesGiveOtherBitsWhereAWaitIsMissing) {
  const ExploreOutcome outcome = explore_kernel("copy_without_wait_3_stages", false);
  EXPECT_EQ(outcome.verdict, "fail");
  EXPECT_TRUE(outcome.divergence);
}

TEST(Explore, ASameRangeOfSeedsGivesTheSameDocument) {
  ExploreOptions options;
  options.schedules = 30;
  options.first_seed = 5;
  const auto document = [&] {
    return explore_document(explore_kernel("float_atomics", false, 30, 5), options).dump();
  };
  const std::string first = document();
  EXPECT_EQ(first, document());
  EXPECT_NE(first.find(R"("schema":"bitgate.explore/1")"), std::string::npos);
}

TEST(Explore, AFailingScheduleIsNamed) {
  // Deadlocks in every schedule, the plain one too.
  const ExploreOutcome outcome = explore_kernel("barriers_crossed", false, 3);
  EXPECT_EQ(outcome.verdict, "fail");
  ASSERT_EQ(outcome.failures.size(), 1U);
  EXPECT_EQ(outcome.failures[0].seed, 0U);
  EXPECT_EQ(exit_code(outcome), 1);
}

TEST(Explore, ACaseOfOurKernelsAlwaysGivesTheSameBits) {
  const kernels::Kernel& kernel = kernels::kernel_named("w4a16.gemm.16x64x1024.f16.int");
  const conformance::Spec spec =
      conformance::parse_spec("w4a16 m=17 k=1024 n=136 group=64 fill=real seed=3");
  ExploreOptions options;
  options.schedules = 12;
  const ExploreOutcome outcome = explore(spec, kernel, nullptr, options);
  EXPECT_EQ(outcome.verdict, "pass") << outcome.message;
  EXPECT_EQ(outcome.ran, 13U);
  EXPECT_EQ(outcome.distinct, 1U);
  conformance::Spec replayed = spec;
  replayed.schedule = 4;
  EXPECT_EQ(outcome.replay(4), conformance::replay_command(replayed, kernel.name, "machine"));
}

TEST(Explore, RefusesWhatItCannotCompare) {
  const kernels::Kernel& kernel = kernels::kernel_named("w4a16.gemm.16x64x1024.f16.int");
  EXPECT_THROW(explore(conformance::parse_spec("w4a16 schedule=4"), kernel, nullptr, {}),
               InputError);
  const ExploreOutcome outside =
      explore(conformance::parse_spec("w4a16 type=bf16"), kernel, nullptr, {});
  EXPECT_EQ(outside.verdict, "unsupported");
  EXPECT_EQ(exit_code(outside), 3);
  EXPECT_THROW(explore(std::filesystem::path("no/such.json"), std::nullopt, {}), InputError);
}

}  // namespace
}  // namespace bitgate::suite
