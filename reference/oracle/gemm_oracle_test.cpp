#include "reference/oracle/gemm_oracle.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "reference/numeric/exact_sum.h"
#include "reference/numeric/half.h"
#include "reference/numeric/tensor_core.h"
#include "reference/oracle/operands.h"
#include "reference/oracle/replay.h"
#include "reference/oracle/test_problem.h"
#include "reference/support/error.h"

namespace bitgate::oracle {
namespace {

using numeric::ScalarType;
using testing::make_problem;
using testing::TestProblem;
using testing::TestShape;

// What a kernel might do: `chains` interleaved chains of 16 positions each, joined in order.
Arithmetic interleaved(const formats::QuantizedMatrix& w, Product product, WeightForm weights,
                       std::int32_t chains) {
  Arithmetic arithmetic{weights, product, {}, {}};
  arithmetic.chains.resize(static_cast<std::size_t>(chains));
  for (std::int32_t p = 0; p < w.k; p += 16) {
    Run run{w.g_idx[static_cast<std::size_t>(p)], {}};
    for (std::int32_t i = 0; i < 16; ++i) run.positions.push_back(p + i);
    arithmetic.chains[static_cast<std::size_t>(p / 16 % chains)].runs.push_back(run);
  }
  for (std::int32_t c = 1; c < chains; ++c) arithmetic.joins.push_back({0, c});
  return arithmetic;
}

TEST(GemmOracle, EqualsTheExactSum) {
  for (const bool act_order : {false, true}) {
    const TestShape shape{.m = 5, .k = 256, .n = 40, .act_order = act_order};
    const TestProblem problem = make_problem(shape, 12);
    const OracleResult result = gemm_oracle(problem.a(), problem.w, WeightForm::integer);
    const std::vector<float> w = formats::dequantize(problem.w);
    for (std::int64_t m = 0; m < shape.m; ++m) {
      for (std::int64_t n = 0; n < shape.n; ++n) {
        numeric::ExactSum sum;
        for (std::int64_t k = 0; k < shape.k; ++k) {
          sum.add_product(
              numeric::to_float(shape.type,
                                problem.bits[static_cast<std::size_t>(m * problem.lda + k)]),
              w[static_cast<std::size_t>(k * shape.n + n)]);
        }
        const auto at = static_cast<std::size_t>(m * shape.n + n);
        // f64 errs by 2^-53 a term, the bound is in units of 2^-23.
        EXPECT_LE(std::abs(result.value[at] - sum.to_double()), result.bound[at] * 0x1p-25);
        EXPECT_GT(result.bound[at], 0);
      }
    }
  }
}

TEST(GemmOracle, ASubsetIsThatPartOfTheWhole) {
  const TestProblem problem = make_problem({.m = 6, .k = 96, .n = 72}, 5);
  const auto whole = gemm_oracle(problem.a(), problem.w, WeightForm::scaled);
  const std::vector<std::int64_t> rows{5, 2};
  const std::vector<std::int64_t> cols{71, 0, 33};
  const auto part = gemm_oracle(problem.a(), problem.w, WeightForm::scaled, rows, cols);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < cols.size(); ++c) {
      const auto at = static_cast<std::size_t>(rows[r] * 72 + cols[c]);
      EXPECT_EQ(part.value[r * cols.size() + c], whole.value[at]);
      EXPECT_EQ(part.bound[r * cols.size() + c], whole.bound[at]);
    }
  }
  EXPECT_THROW(gemm_oracle(problem.a(), problem.w, WeightForm::scaled, cols, rows), InputError);
}

// The f32 sums themselves, before the output's rounding hides most of their error.
TEST(GemmOracle, TheBoundCoversSequentialSums) {
  double worst = 0;
  for (const ScalarType type : {ScalarType::f16, ScalarType::bf16}) {
    for (const bool positive : {false, true}) {
      for (const std::int64_t k : {64, 1536, 16384}) {
        TestProblem problem =
            make_problem({.m = 4, .k = k, .n = 8, .type = type}, static_cast<std::uint64_t>(k));
        if (positive) {  // every cut has the same sign
          for (auto& bits : problem.bits) bits &= 0x7fff;
          for (auto& z : problem.w.z) z = 0;
        }
        const auto oracle = gemm_oracle(problem.a(), problem.w, WeightForm::scaled);
        std::vector<std::uint16_t> w(static_cast<std::size_t>(k));
        std::vector<float> row(static_cast<std::size_t>(problem.w.n));
        for (std::int64_t n = 0; n < problem.w.n; ++n) {
          for (std::int64_t p = 0; p < k; ++p) {
            dequantize_row(problem.w, WeightForm::scaled, p, n, 1, row.data());
            w[static_cast<std::size_t>(p)] = numeric::round_to(type, static_cast<double>(row[0]));
          }
          for (std::int64_t m = 0; m < problem.m; ++m) {
            const std::uint16_t* a = problem.bits.data() + m * problem.lda;
            float chain = 0;
            for (std::size_t p = 0; p < w.size(); ++p) {
              chain = std::fma(numeric::to_float(type, w[p]), numeric::to_float(type, a[p]), chain);
            }
            std::vector<float> sums{chain};
            for (const std::string_view model : {"turing", "ampere", "hopper"}) {
              float sum = 0;
              for (std::size_t p = 0; p < w.size(); p += 16) {
                sum = numeric::tensor_core_dot16(numeric::tensor_model(model), type, a + p, &w[p],
                                                 sum);
              }
              sums.push_back(sum);
            }
            const auto at = static_cast<std::size_t>(m * problem.w.n + n);
            for (const float sum : sums) {
              const double error = std::abs(static_cast<double>(sum) - oracle.value[at]);
              EXPECT_LE(error, oracle.bound[at]) << "k " << k;
              worst = std::max(worst, error / oracle.bound[at]);
            }
          }
        }
      }
    }
  }
  RecordProperty("largest_share_of_the_bound", std::to_string(worst));
  EXPECT_GT(worst, 0.2);  // nor is it much wider than it has to be
}

TEST(GemmOracle, EveryHonestTreeIsWithinTheBound) {
  std::int64_t compared = 0;
  for (const ScalarType type : {ScalarType::f16, ScalarType::bf16}) {
    for (const std::int64_t k : {32, 576, 4096}) {
      const TestShape shape{.m = 8, .k = k, .n = 32, .type = type};
      const TestProblem problem = make_problem(shape, static_cast<std::uint64_t>(k));
      const auto order = testing::identity_order(k);
      for (const WeightForm weights : {WeightForm::integer, WeightForm::scaled}) {
        const auto oracle = gemm_oracle(problem.a(), problem.w, weights);
        for (const Product product : {Product::tensor_core, Product::fused}) {
          for (const std::int32_t chains : {1, 4, 32}) {
            for (const std::string_view model : {"hopper", "ampere"}) {
              const auto got = replay(interleaved(problem.w, product, weights, chains),
                                      numeric::tensor_model(model), problem.a(), problem.w, order);
              for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_TRUE(accepts(type, got[i], oracle.value[i], oracle.bound[i]));
                ++compared;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 30'000);
}

// A kernel that keeps its accumulator in 16 bits is outside of it.
TEST(GemmOracle, SixteenBitAccumulationIsRejected) {
  const TestShape shape{.m = 8, .k = 1536, .n = 32};
  const TestProblem problem = make_problem(shape, 77);
  const auto oracle = gemm_oracle(problem.a(), problem.w, WeightForm::integer);
  const std::vector<float> w = formats::dequantize(problem.w);
  int rejected = 0;
  for (std::int64_t m = 0; m < shape.m; ++m) {
    for (std::int64_t n = 0; n < shape.n; ++n) {
      numeric::Half acc;
      for (std::int64_t k = 0; k < shape.k; ++k) {
        const auto x = static_cast<double>(numeric::to_float(
            numeric::Half{problem.bits[static_cast<std::size_t>(m * problem.lda + k)]}));
        acc =
            numeric::to_half(static_cast<double>(numeric::to_float(acc)) +
                             x * static_cast<double>(w[static_cast<std::size_t>(k * shape.n + n)]));
      }
      const auto at = static_cast<std::size_t>(m * shape.n + n);
      rejected += accepts(shape.type, acc.bits, oracle.value[at], oracle.bound[at]) ? 0 : 1;
    }
  }
  EXPECT_GT(rejected, shape.m * shape.n * 4 / 5);
}

// What a fault of the smallest kind looks like, made in the inputs and computed by the oracle.
enum class Fault { lost_step, zero_point_in_one_group, scale_of_the_neighbour };

TestProblem with_fault(TestProblem problem, Fault fault, std::uint64_t seed) {
  auto& w = problem.w;
  Random random(seed, "fault");
  const auto n = static_cast<std::size_t>(w.n);
  const std::size_t group = random.below(static_cast<std::uint64_t>(w.groups() - 1));
  switch (fault) {
    case Fault::lost_step: {
      const std::size_t step = random.below(static_cast<std::uint64_t>(w.k / 16));
      for (std::int64_t m = 0; m < problem.m; ++m) {
        for (std::size_t i = 0; i < 16; ++i) {
          problem.bits[static_cast<std::size_t>(m * problem.lda) + step * 16 + i] = 0;
        }
      }
      break;
    }
    case Fault::zero_point_in_one_group:
      for (std::size_t c = 0; c < n; ++c) ++w.z[group * n + c];
      break;
    case Fault::scale_of_the_neighbour:
      for (std::size_t c = 0; c < n; ++c) w.scales[group * n + c] = w.scales[(group + 1) * n + c];
      break;
  }
  return problem;
}

TEST(GemmOracle, TheSmallestFaultsAreRejectedByBoundAndByReplay) {
  for (const std::int64_t k : {576, 1536, 4096, 8960, 16384}) {
    // Zero points near the middle, as those of real layers are.
    const TestShape shape{.m = 16, .k = k, .n = 64, .z_low = 4, .z_high = 12};
    const TestProblem problem = make_problem(shape, static_cast<std::uint64_t>(k) + 1);
    const auto oracle = gemm_oracle(problem.a(), problem.w, WeightForm::integer);
    const auto order = testing::identity_order(k);
    const Arithmetic arithmetic =
        interleaved(problem.w, Product::tensor_core, WeightForm::integer, 2);
    const auto& model = numeric::tensor_model("hopper");
    const auto right = replay(arithmetic, model, problem.a(), problem.w, order);
    for (const Fault fault :
         {Fault::lost_step, Fault::zero_point_in_one_group, Fault::scale_of_the_neighbour}) {
      const TestProblem faulty = with_fault(problem, fault, static_cast<std::uint64_t>(k));
      const auto got = replay(arithmetic, model, faulty.a(), faulty.w, order);
      std::size_t by_bound = 0;
      std::size_t by_replay = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        by_bound += accepts(shape.type, got[i], oracle.value[i], oracle.bound[i]) ? 0 : 1;
        by_replay += got[i] != right[i] ? 1 : 0;
      }
      const std::string what = "k " + std::to_string(k) + " fault " +
                               std::to_string(static_cast<int>(fault)) + " bound " +
                               std::to_string(by_bound) + " replay " + std::to_string(by_replay) +
                               " of " + std::to_string(got.size());
      RecordProperty(
          "rejected_" + std::to_string(k) + "_" + std::to_string(static_cast<int>(fault)), what);
      EXPECT_GE(by_bound * 10, got.size() * 9) << what;
      EXPECT_GE(by_replay * 10, got.size() * 9) << what;
    }
  }
}

TEST(GemmOracle, AcceptsWhatRoundsFromWithinTheBound) {
  const auto f16 = ScalarType::f16;
  EXPECT_TRUE(accepts(f16, 0x3c00, 1.0, 0));
  EXPECT_FALSE(accepts(f16, 0x3c01, 1.0, 0));
  EXPECT_TRUE(accepts(f16, 0x3c01, 1.0, 0x1p-11 * 1.001));
  EXPECT_FALSE(accepts(f16, 0x3c01, 1.0, 0x1p-11 * 0.999));
  EXPECT_TRUE(accepts(f16, 0x8000, 0.0, 0));  // -0 is 0
  EXPECT_FALSE(accepts(f16, 0x7fff, 0.0, 1e9));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(accepts(f16, 0x7e00, nan, 0));
  EXPECT_FALSE(accepts(f16, 0, nan, infinity));
  EXPECT_TRUE(accepts(f16, 0x7c00, infinity, infinity));
  EXPECT_FALSE(accepts(f16, 0xfc00, infinity, infinity));
  EXPECT_TRUE(accepts(f16, 0x7c00, 70000.0, 1));
  EXPECT_FALSE(accepts(f16, 0x7bff, 70000.0, 1));
}

}  // namespace
}  // namespace bitgate::oracle
