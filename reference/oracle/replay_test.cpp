#include "reference/oracle/replay.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "reference/numeric/half.h"
#include "reference/oracle/test_problem.h"
#include "reference/support/error.h"

namespace bitgate::oracle {
namespace {

using numeric::ScalarType;
using testing::make_problem;
using testing::TestProblem;
using testing::TestShape;

// The doc comment of arithmetic.h, one element at a time.
std::uint16_t replay_slowly(const Arithmetic& arithmetic, const numeric::TensorModel& model,
                            const TestProblem& problem, const std::vector<std::int32_t>& order,
                            std::int64_t m, std::int64_t n) {
  const auto& w = problem.w;
  const ScalarType type = w.scale_type;
  const auto scale = [&](std::int32_t g) {
    return numeric::to_float(type, w.scales[static_cast<std::size_t>(g * w.n + n)]);
  };
  const auto weight = [&](std::int32_t position) {
    const std::int32_t row = order[static_cast<std::size_t>(position)];
    const std::int32_t g = w.g_idx[static_cast<std::size_t>(row)];
    const int difference =
        w.q[static_cast<std::size_t>(row * w.n + n)] - w.z[static_cast<std::size_t>(g * w.n + n)];
    const double exact = arithmetic.weights == WeightForm::integer
                             ? difference
                             : static_cast<double>(scale(g)) * difference;
    return numeric::round_to(type, exact);
  };
  const auto activation = [&](std::int32_t position) {
    return problem.bits[static_cast<std::size_t>(m * problem.lda +
                                                 order[static_cast<std::size_t>(position)])];
  };

  std::vector<float> chains;
  for (const Chain& chain : arithmetic.chains) {
    float acc = 0;
    for (const Run& run : chain.runs) {
      float part = arithmetic.weights == WeightForm::integer ? 0 : acc;
      if (arithmetic.product == Product::fused) {
        for (const std::int32_t p : run.positions) {
          part = std::fma(numeric::to_float(type, weight(p)),
                          numeric::to_float(type, activation(p)), part);
        }
      } else {
        for (std::size_t s = 0; s < run.positions.size(); s += 16) {
          std::array<std::uint16_t, 16> x{};
          std::array<std::uint16_t, 16> y{};
          for (std::size_t i = 0; i < 16; ++i) {
            const std::int32_t p = run.positions[s + i];
            if (p < 0) continue;
            x[i] = activation(p);
            y[i] = weight(p);
          }
          part = numeric::tensor_core_dot16(model, type, x.data(), y.data(), part);
        }
      }
      acc =
          arithmetic.weights == WeightForm::integer ? std::fma(scale(run.group), part, acc) : part;
    }
    chains.push_back(acc);
  }
  if (chains.empty()) chains.push_back(0);
  for (const Join& join : arithmetic.joins) {
    chains[static_cast<std::size_t>(join.into)] += chains[static_cast<std::size_t>(join.from)];
  }
  return numeric::round_to(type, static_cast<double>(chains[0]));
}

// A tree over all positions in group order: steps dealt to the chains at random, joined at random.
Arithmetic random_arithmetic(const formats::QuantizedMatrix& w,
                             const std::vector<std::int32_t>& order, Product product,
                             WeightForm weights, std::uint64_t seed) {
  Random random(seed, "arithmetic");
  Arithmetic arithmetic{weights, product, {}, {}};
  arithmetic.chains.resize(1 + random.below(5));
  const std::size_t step = product == Product::tensor_core ? 16 : 1;
  std::size_t p = 0;
  while (p < order.size()) {
    const std::int32_t group = w.g_idx[static_cast<std::size_t>(order[p])];
    Run run{group, {}};
    const std::size_t steps = 1 + random.below(3);
    for (std::size_t s = 0; s < steps * step && p < order.size(); ++s) {
      if (w.g_idx[static_cast<std::size_t>(order[p])] != group) break;
      run.positions.push_back(static_cast<std::int32_t>(p++));
    }
    if (product == Product::tensor_core) {
      while (run.positions.size() % 16 != 0) run.positions.push_back(-1);
    }
    arithmetic.chains[random.below(arithmetic.chains.size())].runs.push_back(run);
  }
  for (auto from = static_cast<std::int32_t>(arithmetic.chains.size()) - 1; from > 0; --from) {
    arithmetic.joins.push_back(
        {static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(from))), from});
  }
  return arithmetic;
}

Arithmetic one_run(Product product, std::int32_t group, std::vector<std::int32_t> positions) {
  return {WeightForm::integer, product, {Chain{{Run{group, std::move(positions)}}}}, {}};
}

TEST(Replay, EqualsTheDeclarationReadOneElementAtATime) {
  std::uint64_t seed = 0;
  std::int64_t compared = 0;
  for (const ScalarType type : {ScalarType::f16, ScalarType::bf16}) {
    for (const Product product : {Product::tensor_core, Product::fused}) {
      for (const WeightForm weights : {WeightForm::integer, WeightForm::scaled}) {
        for (const TestShape& shape :
             {TestShape{.m = 1, .k = 32, .n = 8}, TestShape{.m = 3, .k = 96, .n = 20},
              TestShape{.m = 17, .k = 128, .n = 24, .group = 64, .act_order = true},
              TestShape{.m = 33, .k = 96, .n = 9, .group = 96},
              TestShape{.m = 5, .k = 60, .n = 16, .group = 20, .act_order = true}}) {
          ++seed;
          TestShape typed = shape;
          typed.type = type;
          const TestProblem problem = make_problem(typed, seed);
          const auto order = formats::sort_by_group(problem.w);
          const Arithmetic arithmetic = random_arithmetic(problem.w, order, product, weights, seed);
          ASSERT_EQ(positions_missing(arithmetic, shape.k), 0);
          for (const std::string_view model_name : {"hopper", "ampere"}) {
            const auto& model = numeric::tensor_model(model_name);
            const auto got = replay(arithmetic, model, problem.a(), problem.w, order);
            ASSERT_EQ(got.size(), static_cast<std::size_t>(shape.m * shape.n));
            for (std::int64_t m = 0; m < shape.m; ++m) {
              for (std::int64_t n = 0; n < shape.n; ++n) {
                ASSERT_EQ(got[static_cast<std::size_t>(m * shape.n + n)],
                          replay_slowly(arithmetic, model, problem, order, m, n))
                    << "seed " << seed << " row " << m << " column " << n;
                ++compared;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 10'000);
}

TEST(Replay, SpecialValuesGoThrough) {
  const TestShape shape{.m = 6, .k = 64, .n = 8};
  TestProblem problem = make_problem(shape, 4);
  problem.bits[0] = 0x7c00;                                          // row 0: infinity
  problem.bits[static_cast<std::size_t>(problem.lda)] = 0xfe01;      // row 1: NaN
  problem.bits[static_cast<std::size_t>(2 * problem.lda)] = 0x0001;  // row 2: subnormal
  problem.w.scales[3] = 0x7c00;
  problem.w.scales[4] = 0x0003;
  problem.w.scales[5] = 0xfe00;
  const auto order = testing::identity_order(shape.k);
  for (const Product product : {Product::tensor_core, Product::fused}) {
    for (const WeightForm weights : {WeightForm::integer, WeightForm::scaled}) {
      const Arithmetic arithmetic = random_arithmetic(problem.w, order, product, weights, 2);
      const auto& model = numeric::tensor_model("hopper");
      const auto got = replay(arithmetic, model, problem.a(), problem.w, order);
      for (std::int64_t m = 0; m < shape.m; ++m) {
        for (std::int64_t n = 0; n < shape.n; ++n) {
          ASSERT_EQ(got[static_cast<std::size_t>(m * shape.n + n)],
                    replay_slowly(arithmetic, model, problem, order, m, n))
              << "row " << m << " column " << n;
        }
      }
      EXPECT_EQ(got[8], 0x7fff);
    }
  }
}

TEST(Replay, ASubsetIsThatPartOfTheWhole) {
  const TestShape shape{.m = 40, .k = 128, .n = 48, .act_order = true};
  const TestProblem problem = make_problem(shape, 3);
  const auto order = formats::sort_by_group(problem.w);
  const Arithmetic arithmetic =
      random_arithmetic(problem.w, order, Product::tensor_core, WeightForm::scaled, 1);
  const auto& model = numeric::tensor_model("hopper");
  const auto whole = replay(arithmetic, model, problem.a(), problem.w, order);
  const std::vector<std::int64_t> rows{39, 0, 17};
  const std::vector<std::int64_t> cols{47, 1, 2, 8, 9, 30, 31, 0, 12, 5};
  const auto part = replay(arithmetic, model, problem.a(), problem.w, order, rows, cols);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < cols.size(); ++c) {
      EXPECT_EQ(part[r * cols.size() + c],
                whole[static_cast<std::size_t>(rows[r] * shape.n + cols[c])]);
    }
  }
  const std::vector<std::int64_t> outside{48};
  EXPECT_THROW(replay(arithmetic, model, problem.a(), problem.w, order, rows, outside), InputError);
  EXPECT_THROW(replay(arithmetic, model, problem.a(), problem.w, order, outside, cols), InputError);
}

TEST(Replay, TheNumberOfThreadsChangesNothing) {
  const TestShape shape{.m = 35, .k = 320, .n = 264};
  const TestProblem problem = make_problem(shape, 8);
  const auto order = testing::identity_order(shape.k);
  const Arithmetic arithmetic =
      random_arithmetic(problem.w, order, Product::tensor_core, WeightForm::integer, 8);
  const auto& model = numeric::tensor_model("hopper");
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = replay(arithmetic, model, problem.a(), problem.w, order);
  omp_set_num_threads(3);
  const auto three = replay(arithmetic, model, problem.a(), problem.w, order);
  omp_set_num_threads(before);
  EXPECT_EQ(one, three);
}

TEST(Replay, KOfZeroIsPositiveZero) {
  const TestProblem problem = make_problem({.m = 3, .k = 0, .n = 8}, 2);
  const auto out = replay({}, numeric::tensor_model("hopper"), problem.a(), problem.w, {});
  EXPECT_EQ(out, std::vector<std::uint16_t>(24, 0));
  const TestProblem no_rows = make_problem({.m = 0, .k = 32, .n = 8}, 2);
  EXPECT_TRUE(replay({}, numeric::tensor_model("hopper"), no_rows.a(), no_rows.w,
                     testing::identity_order(32))
                  .empty());
}

// What the tolerance of zero rests on: each of these is another declaration, and gives other bits.
TEST(Replay, AnotherTreeOrModelGivesOtherBits) {
  // Many elements: two trees differ by about 2^-20, so one element in some hundreds rounds
  // elsewhere.
  const TestShape shape{.m = 32, .k = 1536, .n = 1024, .group = 64};
  const TestProblem problem = make_problem(shape, 6);
  const auto order = testing::identity_order(shape.k);
  const auto declared = [&](std::uint64_t seed, Product product, WeightForm weights,
                            std::string_view model) {
    return replay(random_arithmetic(problem.w, order, product, weights, seed),
                  numeric::tensor_model(model), problem.a(), problem.w, order);
  };
  const auto base = declared(1, Product::tensor_core, WeightForm::scaled, "hopper");
  EXPECT_TRUE(base != declared(2, Product::tensor_core, WeightForm::scaled, "hopper"));
  EXPECT_TRUE(base != declared(1, Product::fused, WeightForm::scaled, "hopper"));
  EXPECT_TRUE(base != declared(1, Product::tensor_core, WeightForm::integer, "hopper"));
  EXPECT_TRUE(base != declared(1, Product::tensor_core, WeightForm::scaled, "ampere"));
  EXPECT_TRUE(base == declared(1, Product::tensor_core, WeightForm::scaled, "hopper"));
}

TEST(Replay, RefusesADeclarationThatDoesNotHoldTogether) {
  const TestProblem problem = make_problem({.m = 1, .k = 64, .n = 8}, 2);
  const auto order = testing::identity_order(64);
  const auto refused = [&](const Arithmetic& arithmetic) {
    EXPECT_THROW(replay(arithmetic, numeric::tensor_model("hopper"), problem.a(), problem.w, order),
                 InputError);
  };
  refused(one_run(Product::tensor_core, 0, {0, 1, 2}));
  refused(one_run(Product::fused, 0, {0, -1}));
  refused(one_run(Product::fused, 0, {64}));
  refused(one_run(Product::fused, 0, {32}));
  refused(one_run(Product::fused, 2, {}));
  Arithmetic joined = one_run(Product::fused, 0, {0});
  joined.joins.push_back({0, 1});
  refused(joined);
  EXPECT_EQ(positions_missing(one_run(Product::fused, 0, {0, 1, 1}), 4), 3);

  const Arithmetic fine = one_run(Product::fused, 0, {0});
  auto twice = order;
  twice[1] = 0;
  EXPECT_THROW(replay(fine, numeric::tensor_model("hopper"), problem.a(), problem.w, twice),
               InputError);
  TestProblem short_of_scales = problem;
  short_of_scales.w.scales.pop_back();
  EXPECT_THROW(
      replay(fine, numeric::tensor_model("hopper"), short_of_scales.a(), short_of_scales.w, order),
      InputError);
  TestProblem short_of_a = problem;
  short_of_a.bits.pop_back();
  EXPECT_THROW(replay(fine, numeric::tensor_model("hopper"), short_of_a.a(), short_of_a.w, order),
               InputError);
}

}  // namespace
}  // namespace bitgate::oracle
