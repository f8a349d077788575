// Each check rejects what it is for: the value checks on outputs made by hand. What needs a launch
// is in run_case_test.cpp.

#include "conformance/check/checks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/check/exact_reference.h"
#include "reference/numeric/half.h"
#include "reference/oracle/gemm_oracle.h"

namespace bitgate::conformance {
namespace {

Problem problem_of(const std::string& keys) { return materialise(parse_spec("w4a16 " + keys)); }

Execution execution_with(std::vector<std::uint16_t> output) {
  Execution execution;
  execution.launched = true;
  execution.output = std::move(output);
  return execution;
}

/// The oracle's values, rounded.
std::vector<std::uint16_t> rounded_truth(const Problem& problem) {
  const auto truth =
      oracle::gemm_oracle(activations_of(problem), problem.matrix, oracle::WeightForm::integer);
  std::vector<std::uint16_t> bits;
  for (const double value : truth.value) {
    bits.push_back(numeric::round_to(problem.spec.type, value));
  }
  return bits;
}

TEST(CheckBound, AcceptsTheTruthAndRejectsWhatIsOutsideTheBound) {
  const Problem problem = problem_of("m=4 k=512 n=24 group=64 fill=real zero=awq");
  const Selection selection = select_outputs(problem);
  std::vector<std::uint16_t> want;
  const auto right = rounded_truth(problem);
  Judged judged = check_bound(problem, selection, execution_with(right), want);
  EXPECT_EQ(judged.check.verdict, Verdict::pass) << judged.check.message;
  EXPECT_EQ(want, right);
  EXPECT_LE(*judged.comparison.max_error, 0.05);

  auto off = right;
  off[50] = static_cast<std::uint16_t>(off[50] + 8);
  judged = check_bound(problem, selection, execution_with(off), want);
  EXPECT_EQ(judged.check.verdict, Verdict::fail);
  EXPECT_EQ(judged.comparison.wrong, 1);
  EXPECT_EQ(judged.comparison.first->row, 2);
  EXPECT_EQ(judged.comparison.first->col, 2);
  EXPECT_GT(*judged.comparison.max_error, *judged.bound_at_max);

  off[50] = 0x7fff;
  judged = check_bound(problem, selection, execution_with(off), want);
  EXPECT_EQ(judged.check.verdict, Verdict::fail);
  EXPECT_FALSE(judged.comparison.max_error.has_value());
}

TEST(CheckBound, RejectsAZeroPointOffByOneInOneGroup) {
  const Problem problem = problem_of("m=4 k=512 n=24 group=64 fill=real zero=awq");
  Problem wrong = problem;
  for (std::size_t n = 0; n < 24; ++n) {
    std::uint8_t& z = wrong.matrix.z[3 * 24 + n];
    z = static_cast<std::uint8_t>(z == 15 ? 14 : z + 1);
  }
  std::vector<std::uint16_t> want;
  const Judged judged =
      check_bound(problem, select_outputs(problem), execution_with(rounded_truth(wrong)), want);
  EXPECT_EQ(judged.check.verdict, Verdict::fail);
  EXPECT_GT(judged.comparison.wrong, 90);
}

TEST(CheckExact, IsTheRoundingOfTheExactSum) {
  const Problem problem = problem_of("m=4 k=512 n=24 group=64 order=random");
  std::vector<std::uint16_t> want;
  const Judged judged =
      check_exact(problem, select_outputs(problem), execution_with(rounded_truth(problem)), want);
  EXPECT_EQ(judged.check.verdict, Verdict::pass) << judged.check.message;
}

TEST(CheckReplay, FailsADeclarationThatLeavesPositionsOut) {
  const Problem problem = problem_of("m=1 k=32 n=8 group=32 fill=real");
  oracle::Arithmetic arithmetic;
  arithmetic.chains.push_back({.runs = {{.group = 0, .positions = {}}}});
  for (std::int32_t p = 0; p < 16; ++p) arithmetic.chains[0].runs[0].positions.push_back(p);
  std::vector<std::uint16_t> want;
  const Judged first =
      check_replay(problem, select_outputs(problem), arithmetic, numeric::tensor_model("hopper"),
                   true, execution_with(std::vector<std::uint16_t>(8)), want);
  const Judged again =
      check_replay(problem, select_outputs(problem), arithmetic, numeric::tensor_model("hopper"),
                   true, execution_with(want), want);
  EXPECT_EQ(again.comparison.wrong, 0);
  EXPECT_EQ(again.check.verdict, Verdict::fail);
  EXPECT_NE(again.check.message.find("16 of 32 positions"), std::string::npos);
}

TEST(CheckReplay, APublishedModelProvesNothingUnlessStrict) {
  const Problem problem = problem_of("m=1 k=32 n=8 group=32 fill=real");
  oracle::Arithmetic arithmetic;
  arithmetic.chains.push_back({.runs = {{.group = 0, .positions = {}}}});
  for (std::int32_t p = 0; p < 32; ++p) arithmetic.chains[0].runs[0].positions.push_back(p);
  const auto published =
      std::ranges::find(numeric::tensor_models(), false, &numeric::TensorModel::measured);
  ASSERT_NE(published, numeric::tensor_models().end());
  std::vector<std::uint16_t> want;
  const Execution zeros = execution_with(std::vector<std::uint16_t>(8));
  const Selection selection = select_outputs(problem);
  EXPECT_EQ(
      check_replay(problem, selection, arithmetic, *published, false, zeros, want).check.verdict,
      Verdict::untrusted);
  EXPECT_EQ(
      check_replay(problem, selection, arithmetic, *published, true, zeros, want).check.verdict,
      Verdict::fail);
}

TEST(CheckVacuous, WantsValuesThatCouldHaveBeenWrong) {
  Problem problem = problem_of("m=1 k=32 n=8 group=32");
  const Selection selection = select_outputs(problem);
  const auto verdict = [&](std::vector<std::uint16_t> want) {
    return check_vacuous(problem, selection, want, execution_with(want)).verdict;
  };
  EXPECT_EQ(verdict({1, 2, 3, 4, 0, 0, 0x8000, 8}), Verdict::pass);
  EXPECT_EQ(verdict({1, 2, 3, 0, 0, 0, 0x8000, 0}), Verdict::untrusted);
  EXPECT_EQ(verdict({1, 2, 3, 0x7c00, 0x7c00, 0x7fff, 0xfc00, 0x7e00}), Verdict::untrusted);
  problem.spec.keep = {3};
  EXPECT_EQ(verdict({1, 0, 0, 0, 0, 0, 0, 0}), Verdict::pass);
  EXPECT_EQ(verdict({0, 0, 0, 0, 0, 0, 0, 0}), Verdict::untrusted);
}

TEST(CheckVacuous, LooksAtTheOutputsThatAreNotJudged) {
  const Problem problem = problem_of("m=2 k=32 n=8 group=32");
  const Selection part{.rows = {0}, .cols = {0, 1}, .whole = false};
  const std::vector<std::uint16_t> want{0x3c00, 0x3c00};
  std::vector<std::uint16_t> output(16, 0x3c00);
  EXPECT_EQ(check_vacuous(problem, part, want, execution_with(output)).verdict, Verdict::pass);
  output[13] = 0xfc00;
  EXPECT_EQ(check_vacuous(problem, part, want, execution_with(output)).verdict, Verdict::fail);
}

TEST(CompareBits, CountsNansAsOneValueAndSignsOfZeroAsTwo) {
  const Selection all{.rows = {0}, .cols = {0, 1, 2, 3}, .whole = true};
  const std::vector<std::uint16_t> want{0x7fff, 0x7e00, 0x0000, 0x3c00};
  const auto type = numeric::ScalarType::f16;
  const std::vector<std::uint16_t> nans{0xfe01, 0x7e00, 0x0000, 0x3c00};
  Comparison comparison = compare_bits(type, all, 4, nans, want);
  EXPECT_EQ(comparison.wrong, 0);
  EXPECT_EQ(comparison.nan_payload, 1);

  const std::vector<std::uint16_t> numbers{0x0000, 0x7e00, 0x8000, 0x7fff};
  comparison = compare_bits(type, all, 4, numbers, want);
  EXPECT_EQ(comparison.wrong, 3);
  EXPECT_EQ(comparison.first->want, 0x7fff);
  EXPECT_FALSE(comparison.max_error.has_value());
  EXPECT_EQ(verdict_of(comparison, "exact", type, all).message,
            "3 of 4 outputs are wrong; the first, row 0 column 0, is 0x0000 (0) and should be "
            "0x7fff (nan)");
}

TEST(CompareBits, ComparesTheChosenPartOfAnOutput) {
  const Selection part{.rows = {1, 2}, .cols = {0, 3}, .whole = false};
  const std::vector<std::uint16_t> output{0, 0, 0, 0, 1, 0, 0, 2, 3, 0, 0, 4};
  const std::vector<std::uint16_t> want{1, 2, 3, 5};
  const Comparison comparison = compare_bits(numeric::ScalarType::f16, part, 4, output, want);
  EXPECT_EQ(comparison.wrong, 1);
  EXPECT_EQ(comparison.first->row, 2);
  EXPECT_EQ(comparison.first->col, 3);
  EXPECT_NE(verdict_of(comparison, "exact", numeric::ScalarType::f16, part)
                .message.find("4 outputs were judged, 2 rows by 2 columns"),
            std::string::npos);
}

TEST(Selection, JudgesAllOfAnOrdinaryProblemAndTheEdgesOfAHugeOne) {
  const Problem ordinary = problem_of("m=3 k=32 n=16 group=32");
  EXPECT_TRUE(select_outputs(ordinary).whole);
  EXPECT_EQ(select_outputs(ordinary).size(), 48);

  Problem huge;
  huge.spec.m = 65537;
  huge.spec.n = 32776;
  huge.spec.k = 32;
  const Selection selection = select_outputs(huge);
  EXPECT_FALSE(selection.whole);
  EXPECT_EQ(selection.rows.front(), 0);
  EXPECT_EQ(selection.rows.back(), 65536);
  EXPECT_EQ(selection.cols.back(), 32775);
  EXPECT_TRUE(std::ranges::is_sorted(selection.cols));
  EXPECT_GT(selection.size(), 100'000);
}

TEST(Selection, OperandsAreThoseOfTheChosenOutputs) {
  const Problem problem = problem_of("m=9 k=128 n=64 group=32 order=random");
  const Selection part{.rows = {0, 4, 8}, .cols = {1, 33, 63}, .whole = false};
  const SelectedOperands operands = select_operands(problem, part);
  const auto whole = exact_outputs(problem.matrix, 9, problem.activations);
  const auto chosen = exact_outputs(operands.matrix, 3, operands.activations);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(chosen[3 * r + c],
                whole[static_cast<std::size_t>(part.rows[r] * 64 + part.cols[c])]);
    }
  }
}

TEST(WrongSample, StaysBoundedAndSpread) {
  WrongSample sample;
  for (std::int64_t i = 0; i < 3'000'000; ++i) sample.add({.row = i, .col = 0, .got = 0});
  const auto kept = sample.take();
  EXPECT_LE(kept.size(), std::size_t{1} << 20);
  EXPECT_GT(kept.size(), std::size_t{1} << 19);
  EXPECT_EQ(kept.front().row, 0);
  EXPECT_GT(kept.back().row, 2'999'000);
}

TEST(Verdicts, WorseIsFailThenUnsupportedThenUntrusted) {
  EXPECT_EQ(worse(Verdict::pass, Verdict::untrusted), Verdict::untrusted);
  EXPECT_EQ(worse(Verdict::unsupported, Verdict::untrusted), Verdict::unsupported);
  EXPECT_EQ(worse(Verdict::unsupported, Verdict::fail), Verdict::fail);
  EXPECT_EQ(worse(Verdict::pass, Verdict::pass), Verdict::pass);
}

}  // namespace
}  // namespace bitgate::conformance
