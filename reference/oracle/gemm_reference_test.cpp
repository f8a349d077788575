#include "reference/oracle/gemm_reference.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "reference/numeric/half.h"
#include "reference/oracle/gemm_oracle.h"
#include "reference/oracle/test_problem.h"
#include "reference/support/error.h"

namespace bitgate::oracle {
namespace {

using numeric::ScalarType;
using testing::make_problem;
using testing::TestProblem;
using testing::TestShape;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

TEST(GemmReference, ThreadsAndCacheSizesChangeNothing) {
  for (const TestShape& shape :
       {TestShape{.m = 1, .k = 1504, .n = 600}, TestShape{.m = 5, .k = 288, .n = 424},
        TestShape{.m = 300, .k = 416, .n = 392, .type = ScalarType::bf16, .act_order = true},
        TestShape{.m = 67, .k = 4096, .n = 200, .group = 128},
        TestShape{.m = 32, .k = 64, .n = 4200}, TestShape{.m = 33, .k = 160, .n = 4200}}) {
    const TestProblem problem = make_problem(shape, 21);
    const auto first = gemm_reference(problem.a(), problem.w, 1);
    std::ptrdiff_t l1 = 0;
    std::ptrdiff_t l2 = 0;
    std::ptrdiff_t l3 = 0;
    Eigen::internal::manage_caching_sizes(Eigen::GetAction, &l1, &l2, &l3);
    for (const auto& [small, middle, large] :
         {std::tuple{16 << 10, 128 << 10, 1 << 20}, std::tuple{32 << 10, 512 << 10, 32 << 20},
          std::tuple{128 << 10, 4 << 20, 256 << 20}}) {
      Eigen::setCpuCacheSizes(small, middle, large);
      for (const int threads : {1, 2, 3}) {
        EXPECT_TRUE(same_bits(first, gemm_reference(problem.a(), problem.w, threads)))
            << "m " << shape.m << ", " << threads << " threads, L1 of " << small;
      }
    }
    Eigen::setCpuCacheSizes(l1, l2, l3);
  }
}

// Were the products longer in k, the same cache sizes would tell: the test above can fail.
TEST(GemmReference, EigenAloneDependsOnCacheSizes) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  std::srand(1);
  const Matrix a = Matrix::Random(64, 4096);
  const Matrix b = Matrix::Random(4096, 192);
  std::ptrdiff_t l1 = 0;
  std::ptrdiff_t l2 = 0;
  std::ptrdiff_t l3 = 0;
  Eigen::internal::manage_caching_sizes(Eigen::GetAction, &l1, &l2, &l3);
  Eigen::setCpuCacheSizes(16 << 10, 128 << 10, 1 << 20);
  const Matrix small = a * b;
  Eigen::setCpuCacheSizes(128 << 10, 4 << 20, 256 << 20);
  const Matrix large = a * b;
  Eigen::setCpuCacheSizes(l1, l2, l3);
  EXPECT_TRUE((small.array() != large.array()).any());
}

TEST(GemmReference, IsTheProduct) {
  for (const TestShape& shape :
       {TestShape{.m = 1, .k = 32, .n = 8}, TestShape{.m = 3, .k = 64, .n = 200},
        TestShape{.m = 260, .k = 96, .n = 16, .type = ScalarType::bf16},
        TestShape{.m = 17, .k = 384, .n = 208, .group = 64, .act_order = true},
        TestShape{.m = 4, .k = 60, .n = 9, .group = 20}}) {
    const TestProblem problem = make_problem(shape, 31);
    const auto got = gemm_reference(problem.a(), problem.w);
    const auto want = gemm_oracle(problem.a(), problem.w, WeightForm::integer);
    ASSERT_EQ(got.size(), want.value.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_LE(std::abs(static_cast<double>(got[i]) - want.value[i]), want.bound[i]) << i;
    }
  }
}

// Sums that fit are exact: what lets it judge an exact fill.
TEST(GemmReference, IntegersAreExact) {
  TestProblem problem = make_problem({.m = 9, .k = 640, .n = 40}, 41);
  Random random(1);
  for (auto& scale : problem.w.scales) scale = 0x3c00;
  for (auto& bits : problem.bits) {
    bits = numeric::round_to(ScalarType::f16, static_cast<double>(random.between(-8, 8)));
  }
  const auto got = gemm_reference(problem.a(), problem.w);
  const auto want = gemm_oracle(problem.a(), problem.w, WeightForm::integer).value;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(static_cast<double>(got[i]), want[i]);
  }
}

TEST(GemmReference, EmptyExtents) {
  const TestProblem no_k = make_problem({.m = 2, .k = 0, .n = 8}, 3);  // lda > 0
  EXPECT_EQ(gemm_reference(no_k.a(), no_k.w), std::vector<float>(16, 0.0F));
  const TestProblem no_m = make_problem({.m = 0, .k = 32, .n = 8}, 2);
  EXPECT_TRUE(gemm_reference(no_m.a(), no_m.w).empty());
  const TestProblem no_n = make_problem({.m = 2, .k = 32, .n = 0}, 2);
  EXPECT_TRUE(gemm_reference(no_n.a(), no_n.w).empty());
}

TEST(GemmReference, RefusesOperandsThatDoNotFit) {
  TestProblem problem = make_problem({.m = 2, .k = 64, .n = 8}, 2);
  problem.w.g_idx[5] = 2;
  EXPECT_THROW(gemm_reference(problem.a(), problem.w), InputError);
  problem.w.g_idx[5] = 0;
  Activations narrow = problem.a();
  narrow.k = 32;
  EXPECT_THROW(gemm_reference(narrow, problem.w), InputError);
  narrow = problem.a();
  narrow.lda = 63;
  EXPECT_THROW(gemm_reference(narrow, problem.w), InputError);
}

}  // namespace
}  // namespace bitgate::oracle
