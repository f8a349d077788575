#include "ci/suite/gate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "ci/suite/case_list.h"
#include "ci/suite/real_weights.h"
#include "ci/suite/verdict_cache.h"
#include "ci/suite/workspace.h"
#include "fuzz/classes.h"
#include "reference/support/file.h"

namespace bitgate::suite {
namespace {

namespace fs = std::filesystem;

using conformance::CaseResult;
using conformance::Verdict;

TEST(Gate, ExitCodes) {
  GateOutcome outcome;
  outcome.summary.counts.pass = 3;
  EXPECT_EQ(exit_code(outcome), 0);
  outcome.not_proven = {"a class was never hit"};
  EXPECT_EQ(exit_code(outcome), 3);
  outcome.not_proven.clear();
  outcome.summary.counts.untrusted = 1;
  EXPECT_EQ(exit_code(outcome), 3);
  outcome.summary.counts.fail = 1;
  EXPECT_EQ(exit_code(outcome), 1);
  outcome.summary.counts.fail = 0;
  outcome.summary.counts.unsupported = 1;
  EXPECT_EQ(exit_code(outcome), 1);
}

TEST(Gate, EveryKernelGetsAtLeastFortyCasesOfItsOwn) {
  const auto all = kernels::match_kernels("*");
  const auto edges = edge_cases(all);
  const auto generated = generated_cases(all, 1, edges, 42);
  std::map<std::string, std::uint64_t> cases;
  for (const auto* list : {&edges, &generated}) {
    for (const PlannedCase& planned : *list) {
      EXPECT_TRUE(fuzz::in_domain(*planned.kernel, planned.spec));
      ++cases[planned.kernel->name];
    }
  }
  ASSERT_EQ(cases.size(), all.size());
  for (const auto& [name, count] : cases) EXPECT_GE(count, 40U) << name;
  EXPECT_GT(edges.size() + generated.size(), 500U);
}

TEST(Gate, ABudgetOfNothingProvesNothing) {
  GateOptions options;
  options.device = DeviceChoice::machine;
  options.kernel_glob = "*gemv.1x*f16.sym";
  options.budget_seconds = 1e-9;
  options.use_cache = false;
  const GateOutcome outcome = run_gate(options);
  EXPECT_EQ(outcome.summary.counts.total(), 0U);
  EXPECT_EQ(exit_code(outcome), 3);
}

TEST(Gate, AnInterruptEndsItWithoutAVerdict) {
  GateOptions options;
  options.device = DeviceChoice::machine;
  options.kernel_glob = "*gemv.1x*f16.sym";
  options.use_cache = false;
  const volatile bool interrupted = true;
  options.interrupted = &interrupted;
  EXPECT_EQ(exit_code(run_gate(options)), 3);
}

TEST(RealWeights, SevenProjectionsOfThreeLayersUnderEveryScheme) {
  std::string reason;
  const auto checkpoints =
      built_in_checkpoints(model_file(), cache_folder() / "checkpoints", reason);
  ASSERT_EQ(reason, "");
  const auto cases = real_weight_cases(checkpoints, kernels::match_kernels("*"), 132);
  std::map<std::string, int> by_convention;
  std::map<std::int64_t, int> by_group;
  for (const PlannedCase& planned : cases) {
    ++by_convention[std::string(conformance::name(planned.spec.zero)) +
                    (planned.spec.order == conformance::Order::none ? "" : " act")];
    ++by_group[planned.spec.group];
  }
  EXPECT_EQ(by_group.at(64), 10 * 3 * 7);
  EXPECT_EQ(by_group.at(128), 10 * 3);
  EXPECT_EQ(by_convention.at("gptq_v1"), 24);
  EXPECT_EQ(by_convention.at("gptq_v1 act"), 24);
  EXPECT_EQ(by_convention.at("gptq_v2"), 24);
  EXPECT_EQ(by_convention.at("gptq_v2 act"), 24);
  EXPECT_EQ(by_convention.at("awq"), 48);
  EXPECT_EQ(by_convention.at("sym"), 48);
  EXPECT_EQ(by_convention.at("sym act"), 48);
}

TEST(RealWeights, AMissingModelIsSaid) {
  std::string reason;
  EXPECT_TRUE(built_in_checkpoints("/nowhere/model.gguf", "unused", reason).empty());
  EXPECT_NE(reason.find("/nowhere/model.gguf"), std::string::npos);
}

class Cache : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / "bitgate_verdicts";
    fs::remove_all(folder_);
    device_.kind = "machine";
    device_.description = "a machine";
    device_.tensor_model = &numeric::tensor_model("hopper");
    result_.spec = conformance::to_string(spec_);
    result_.kernel = "k";
    result_.device = "machine";
    result_.out_sha256 = "00ff";
    result_.max_error = 0.25;
    result_.exact_coverage = 1.0;
    result_.coverage = conformance::Coverage{4, 5, 20};
    result_.checks = {{"exact", Verdict::pass, ""}};
    result_.rules["nan_payload"] = 2;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  conformance::Spec spec_;
  DeviceKind device_;
  CaseResult result_;
};

TEST_F(Cache, GivesAPassBack) {
  VerdictCache cache(folder_);
  const std::string key = cache.key("c0de", spec_, "k", device_);
  EXPECT_FALSE(cache.find(key));
  cache.keep(key, result_);
  const auto found = cache.find(key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->out_sha256, "00ff");
  EXPECT_EQ(found->coverage, result_.coverage);
  EXPECT_EQ(found->max_error, result_.max_error);
  EXPECT_EQ(found->rules, result_.rules);
  EXPECT_EQ(found->checks.at(0).name, "exact");
}

TEST_F(Cache, EverythingAVerdictDependsOnIsInTheKey) {
  VerdictCache cache(folder_);
  const std::string key = cache.key("c0de", spec_, "k", device_);
  EXPECT_NE(cache.key("c0df", spec_, "k", device_), key);
  EXPECT_NE(cache.key("c0de", spec_, "l", device_), key);
  conformance::Spec other = spec_;
  other.seed = 99;
  EXPECT_NE(cache.key("c0de", other, "k", device_), key);
  DeviceKind gpu = device_;
  gpu.kind = "cuda";
  EXPECT_NE(cache.key("c0de", spec_, "k", gpu), key);
  DeviceKind ampere = device_;
  ampere.tensor_model = &numeric::tensor_models().back();
  EXPECT_NE(cache.key("c0de", spec_, "k", ampere), key);
}

TEST_F(Cache, KeepsOnlyPassesAndTrustsNoDamagedFile) {
  VerdictCache cache(folder_);
  const std::string key = cache.key("c0de", spec_, "k", device_);
  result_.verdict = Verdict::fail;
  cache.keep(key, result_);
  EXPECT_FALSE(cache.find(key));
  result_.verdict = Verdict::pass;
  cache.keep(key, result_);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    std::string text = read_text_file(entry.path());
    write_file(entry.path(), std::string_view(text).substr(0, text.size() / 2));
    EXPECT_FALSE(cache.find(key));
    text.replace(text.find("c0de"), 4, "beef");
    write_file(entry.path(), std::string_view(text));
    EXPECT_FALSE(cache.find(key));
  }
}

}  // namespace
}  // namespace bitgate::suite
