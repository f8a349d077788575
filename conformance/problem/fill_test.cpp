#include "conformance/problem/fill.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>

#include "conformance/check/exact_reference.h"
#include "conformance/problem/fill_exact.h"
#include "conformance/problem/perturbation.h"
#include "reference/numeric/half.h"
#include "reference/support/sha256.h"

namespace bitgate::conformance {
namespace {

Spec parsed(const std::string& keys) { return parse_spec("w4a16 " + keys); }

double value(const Problem& problem, std::uint16_t bits) {
  return static_cast<double>(numeric::to_float(problem.spec.type, bits));
}

/// A sum's size and the sum of its terms' sizes, in units.
struct Sum {
  double sum = 0;
  double magnitude = 0;
};

Sum sum_of(const Problem& problem, std::int64_t row, std::int64_t column) {
  const formats::QuantizedMatrix& w = problem.matrix;
  Sum total;
  for (std::int64_t k = 0; k < w.k; ++k) {
    const double a = value(problem, problem.activations[static_cast<std::size_t>(row * w.k + k)]);
    const std::int64_t g = w.g_idx[static_cast<std::size_t>(k)];
    const auto at = static_cast<std::size_t>(g * w.n + column);
    const double term =
        a * value(problem, w.scales[at]) *
        (static_cast<double>(w.q[static_cast<std::size_t>(k * w.n + column)]) - w.z[at]) /
        ExactFill::unit;
    total.sum += term;
    total.magnitude += std::abs(term);
  }
  return total;
}

rc::Gen<Spec> small_specs(Fill fill) {
  return rc::gen::exec([fill] {
    Spec s;
    s.fill = fill;
    s.m = *rc::gen::inRange<std::int64_t>(1, 90);
    s.group = *rc::gen::element<std::int64_t>(-1, 32, 64, 128);
    s.k = *rc::gen::inRange<std::int64_t>(1, 6) * (s.group == -1 ? 32 : s.group);
    s.n = 8 * *rc::gen::inRange<std::int64_t>(1, 12);
    s.type = *rc::gen::element(numeric::ScalarType::f16, numeric::ScalarType::bf16);
    s.zero = *rc::gen::element(ZeroKey::sym, ZeroKey::gptq_v1, ZeroKey::gptq_v2, ZeroKey::awq);
    if (s.zero != ZeroKey::awq) {
      s.order = *rc::gen::element(Order::none, Order::random, Order::skewed, Order::reversed,
                                  Order::identity);
    }
    s.seed = *rc::gen::arbitrary<std::uint64_t>();
    return s;
  });
}

TEST(FillExact, EverySumIsExactAndBelowTheTypesIntegers) {
  EXPECT_TRUE(rc::check("sums are exact", [] {
    const Problem problem = materialise(*small_specs(Fill::exact));
    const auto limit = static_cast<double>(ExactFill::output_limit(problem.spec.type));
    for (std::int64_t row = 0; row < problem.spec.m; ++row) {
      for (std::int64_t n = 0; n < problem.spec.n; ++n) {
        const Sum total = sum_of(problem, row, n);
        RC_ASSERT(total.sum == std::nearbyint(total.sum));
        RC_ASSERT(std::abs(total.sum) < limit);
        RC_ASSERT(total.magnitude < static_cast<double>(ExactFill::sum_limit));
      }
    }
  }));
}

TEST(FillExact, CoversEveryCellOfEveryCase) {
  EXPECT_TRUE(rc::check("coverage is 1", [] {
    const Problem problem = materialise(*small_specs(Fill::exact));
    RC_ASSERT(problem.coverage->share() == 1.0);
    RC_ASSERT(problem.coverage->steps == (problem.spec.k + 15) / 16);
  }));
}

TEST(FillExact, LargeAndOddShapesKeepTheirPromises) {
  for (const char* keys :
       {"m=1 k=16384 n=72 group=-1 type=bf16 zero=gptq_v1", "m=3 k=16384 n=8 group=32 type=f16",
        "m=700 k=32 n=40 group=-1 type=bf16 zero=gptq_v1", "m=129 k=8960 n=16 group=128 type=bf16",
        "m=65 k=576 n=200 group=64 zero=gptq_v1 order=random type=bf16"}) {
    const Problem problem = materialise(parsed(keys));
    EXPECT_EQ(problem.coverage->share(), 1.0) << keys;
    for (std::int64_t row = 0; row < problem.spec.m; ++row) {
      double active = 0;
      for (std::int64_t n = 0; n < problem.spec.n; n += 7) {
        const Sum total = sum_of(problem, row, n);
        ASSERT_LT(std::abs(total.sum),
                  static_cast<double>(ExactFill::output_limit(problem.spec.type)))
            << keys << " row " << row << " column " << n;
        active += total.magnitude;
      }
      ASSERT_GT(active, 0) << keys << ": row " << row << " has nothing to say";
    }
  }
}

TEST(FillExact, BeyondTwoToTheSeventeenRowsThePromiseIsKeptAndTheCoverageFalls) {
  const Problem problem = materialise(parsed("m=1 k=262144 n=8 group=-1 zero=sym"));
  EXPECT_LT(sum_of(problem, 0, 3).magnitude, static_cast<double>(ExactFill::sum_limit));
  EXPECT_LT(problem.coverage->share(), 1.0);
}

TEST(FillExact, UsesEveryCodeAndZeroPointOfTheConvention) {
  for (const auto& [zero, low, high] :
       {std::tuple{"gptq_v1", 1, 16}, std::tuple{"gptq_v2", 0, 15}, std::tuple{"sym", 8, 8}}) {
    const Problem problem = materialise(parsed(std::string("k=1024 n=512 group=32 zero=") + zero));
    const std::set<int> codes(problem.matrix.q.begin(), problem.matrix.q.end());
    const std::set<int> zeros(problem.matrix.z.begin(), problem.matrix.z.end());
    EXPECT_EQ(codes.size(), 16U);
    EXPECT_EQ(*zeros.begin(), low);
    EXPECT_EQ(*zeros.rbegin(), high);
    EXPECT_EQ(static_cast<int>(zeros.size()), high - low + 1);
  }
}

TEST(FillExact, NeighbouringGroupsNeverShareAScale) {
  const Problem problem = materialise(parsed("k=1024 n=64 group=32"));
  const formats::QuantizedMatrix& w = problem.matrix;
  for (std::size_t i = 0; i + 64 < w.scales.size(); ++i) EXPECT_NE(w.scales[i], w.scales[i + 64]);
}

/// Column tiles in which no output changed.
std::vector<std::int64_t> blind_tiles(const std::vector<std::uint16_t>& before,
                                      const std::vector<std::uint16_t>& after, std::int64_t n) {
  std::vector<bool> changed(static_cast<std::size_t>(n / 8));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) changed[i % static_cast<std::size_t>(n) / 8] = true;
  }
  std::vector<std::int64_t> blind;
  for (std::size_t tile = 0; tile < changed.size(); ++tile) {
    if (!changed[tile]) blind.push_back(static_cast<std::int64_t>(tile));
  }
  return blind;
}

/// The resolution that fill_exact.h states, at the sizes where a bound on sums of magnitudes is
/// blind: each perturbation of each step changes bits in every column tile.
class ExactResolution
    : public testing::TestWithParam<std::tuple<std::int64_t, const char*, std::int64_t>> {};

TEST_P(ExactResolution, EveryPerturbationChangesEveryColumnTile) {
  const auto [k, type, m] = GetParam();
  const Problem problem = materialise(parsed(
      "m=" + std::to_string(m) +
      " n=24 group=32 zero=gptq_v2 order=random seed=5 k=" + std::to_string(k) + " type=" + type));
  ASSERT_EQ(problem.coverage->share(), 1.0);
  const auto right = exact_outputs(problem.matrix, m, problem.activations);
  const std::int64_t stride = std::max<std::int64_t>(1, k / 16 / 40);
  for (std::int64_t step = 0; step < k / 16; step += stride) {
    for (const Perturbation& perturbation : kPerturbations) {
      formats::QuantizedMatrix w = problem.matrix;
      std::vector<std::uint16_t> a = problem.activations;
      perturbation.apply(w, a, step);
      EXPECT_TRUE(blind_tiles(right, exact_outputs(w, m, a), problem.spec.n).empty())
          << perturbation.name << " at step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, ExactResolution,
    testing::Combine(testing::Values<std::int64_t>(576, 1536, 4096, 8960, 16384),
                     testing::Values("f16", "bf16"), testing::Values<std::int64_t>(1, 17)));

TEST(FillExact, OneCodeOffByOneChangesTheRowsThatReadIt) {
  const Problem problem = materialise(parsed("m=5 k=8960 n=8 group=128 type=bf16 zero=gptq_v2"));
  const auto right = exact_outputs(problem.matrix, 5, problem.activations);
  for (std::int64_t k = 0; k < 8960; k += 97) {
    formats::QuantizedMatrix w = problem.matrix;
    std::uint8_t& q = w.q[static_cast<std::size_t>(k * 8 + k % 8)];
    q = static_cast<std::uint8_t>(q == 15 ? 14 : q + 1);
    EXPECT_NE(exact_outputs(w, 5, problem.activations), right) << k;
  }
}

TEST(Coverage, FallsWhenAnOperandIsNotSeen) {
  const Problem problem = materialise(parsed("m=2 k=128 n=16 group=32 zero=gptq_v2"));
  const auto covered = [&](const formats::QuantizedMatrix& w, const std::vector<std::uint16_t>& a) {
    return exact_coverage(w, false, 2, a).covered;
  };
  ASSERT_EQ(covered(problem.matrix, problem.activations), 8 * 2);

  std::vector<std::uint16_t> without_k = problem.activations;
  without_k[3] = without_k[128 + 3] = 0;
  EXPECT_EQ(covered(problem.matrix, without_k), 7 * 2);

  formats::QuantizedMatrix same_scales = problem.matrix;
  for (std::size_t n = 0; n < 8; ++n) same_scales.scales[n] = same_scales.scales[16 + n];
  EXPECT_EQ(covered(same_scales, problem.activations), 8 * 2 - 4);

  formats::QuantizedMatrix all_zero = problem.matrix;
  for (std::size_t i = 0; i < 16 * 16; ++i) all_zero.q[i] = all_zero.z[i % 16];
  EXPECT_EQ(covered(all_zero, problem.activations), 7 * 2);

  std::vector<std::uint16_t> no_group_sum = problem.activations;
  for (std::size_t k = 0; k < 32; ++k) {
    no_group_sum[k] = numeric::round_to(problem.spec.type, k % 2 == 0 ? 1 : -1);
    no_group_sum[128 + k] = no_group_sum[k];
  }
  EXPECT_EQ(covered(problem.matrix, no_group_sum), 6 * 2);

  EXPECT_EQ(covered(problem.matrix, std::vector<std::uint16_t>(2 * 128)), 0);
}

TEST(CoverageAccumulator, WantsEveryCellAndTheWholeTile) {
  CoverageAccumulator small(kernels::Geometry{.variant = "gemm", .tile_n = 64, .tile_k = 128});
  EXPECT_TRUE(small.empty());
  small.add({.steps = 2, .column_tiles = 8, .covered = 16});
  EXPECT_EQ(small.share(), 0.25);
  small.add({.steps = 8, .column_tiles = 1, .covered = 8});
  EXPECT_LT(small.share(), 1.0);
  small.add({.steps = 9, .column_tiles = 12, .covered = 108});
  EXPECT_EQ(small.share(), 1.0);
  small.add({.steps = 4, .column_tiles = 1, .covered = 3});
  EXPECT_LT(small.share(), 1.0);
}

TEST(FillProbes, ShowWhatTheyPromise) {
  const Problem identity = materialise(parsed("m=64 k=64 n=16 group=32 fill=probe_identity"));
  const auto shown = exact_outputs(identity.matrix, 64, identity.activations);
  const std::vector<float> weights = formats::dequantize(identity.matrix);
  for (std::int64_t row = 0; row < 64; ++row) {
    const auto begin = identity.activations.begin() + row * 64;
    const std::int64_t k = std::find_if(begin, begin + 64, [](auto a) { return a != 0; }) - begin;
    for (std::int64_t n = 0; n < 16; ++n) {
      EXPECT_EQ(
          shown[static_cast<std::size_t>(row * 16 + n)],
          numeric::round_to(identity.spec.type,
                            static_cast<double>(weights[static_cast<std::size_t>(k * 16 + n)])));
    }
  }

  const Problem ones = materialise(parsed("m=3 k=16384 n=8 group=32 type=bf16 fill=probe_ones"));
  const auto counts = exact_outputs(ones.matrix, 3, ones.activations);
  for (std::size_t row = 0; row < 3; ++row) {
    const auto begin = ones.activations.begin() + static_cast<std::ptrdiff_t>(row * 16384);
    const auto active = std::count_if(begin, begin + 16384, [](auto a) { return a != 0; });
    EXPECT_EQ(value(ones, counts[row * 8]), static_cast<double>(active));
    EXPECT_GT(active, 100);
    EXPECT_LT(active, 256);
  }

  const Problem columns =
      materialise(parsed("m=2 k=64 n=256 group=32 zero=awq fill=probe_columns"));
  const auto digits = exact_outputs(columns.matrix, 2, columns.activations);
  for (std::size_t n = 0; n < 256; ++n) {
    const double a = 15 - value(columns, digits[n]);
    const double b = 15 - value(columns, digits[256 + n]);
    const auto number = static_cast<double>(n);
    EXPECT_TRUE(16 * a + b == number || 16 * b + a == number) << n;
  }

  const Problem scales = materialise(parsed("m=4 k=128 n=64 group=32 fill=probe_scales"));
  const auto seen = exact_outputs(scales.matrix, 4, scales.activations);
  for (std::size_t row = 0; row < 4; ++row) {
    bool found = false;
    for (std::size_t g = 0; g < 4; ++g) {
      found =
          found || std::equal(seen.begin() + static_cast<std::ptrdiff_t>(row * 64),
                              seen.begin() + static_cast<std::ptrdiff_t>(row * 64 + 64),
                              scales.matrix.scales.begin() + static_cast<std::ptrdiff_t>(g * 64));
    }
    EXPECT_TRUE(found) << row;
  }
}

TEST(FillReal, HasTheSpreadOfRealLayers) {
  for (const char* zero : {"sym", "gptq_v1", "awq"}) {
    const Problem problem =
        materialise(parsed(std::string("m=8 k=4096 n=128 group=128 fill=real zero=") + zero));
    double largest = 0;
    double sum = 0;
    for (const std::uint16_t bits : problem.activations) {
      largest = std::max(largest, std::abs(value(problem, bits)));
      sum += value(problem, bits);
    }
    EXPECT_GT(largest, 20);
    EXPECT_NEAR(sum / static_cast<double>(problem.activations.size()), 1.5, 0.15);
    for (const std::uint16_t bits : problem.matrix.scales) {
      EXPECT_GT(value(problem, bits), 0.002);
      EXPECT_LT(value(problem, bits), 0.04);
    }
    const std::set<int> codes(problem.matrix.q.begin(), problem.matrix.q.end());
    EXPECT_GE(codes.size(), 15U);
    if (problem.spec.zero != ZeroKey::sym) {
      EXPECT_GT(std::set<int>(problem.matrix.z.begin(), problem.matrix.z.end()).size(), 3U);
    }
  }
}

TEST(Materialise, ActOrderHasAsManyRowsOfEachGroup) {
  for (const char* order : {"none", "random", "skewed", "reversed", "identity"}) {
    const Spec spec = parsed(std::string("k=384 group=32 order=") + order);
    const std::vector<std::int32_t> index = group_index(spec);
    std::vector<int> rows(12);
    for (const std::int32_t g : index) ++rows[static_cast<std::size_t>(g)];
    EXPECT_EQ(rows, std::vector<int>(12, 32)) << order;
  }
  const auto skewed = group_index(parsed("k=384 group=32 order=skewed"));
  EXPECT_EQ(skewed[0], 0);
  EXPECT_EQ(skewed[127], 9);
  EXPECT_FALSE(std::is_sorted(skewed.begin() + 128, skewed.end()));
}

TEST(Materialise, WhatMustNotBeReadIsJunk) {
  const Problem problem = materialise(parsed("k=128 n=64 group=32 zero=sym"));
  EXPECT_FALSE(problem.layer.qzeros.empty());
  EXPECT_GT(std::set<int>(problem.layer.qzeros.begin(), problem.layer.qzeros.end()).size(), 16U);
  EXPECT_GT(std::set<int>(problem.layer.g_idx.begin(), problem.layer.g_idx.end()).size(), 64U);
  const formats::QuantizedMatrix read = formats::unpack(problem.layer);
  EXPECT_EQ(read.q, problem.matrix.q);
  EXPECT_EQ(read.z, problem.matrix.z);
  EXPECT_EQ(read.g_idx, problem.matrix.g_idx);
}

TEST(Materialise, EmptyShapesAreProblemsToo) {
  for (const char* keys : {"m=0", "n=0", "k=0", "m=0 n=0 k=0"}) {
    for (const FillRow& fill : fills()) {
      if (fill.fill == Fill::checkpoint) continue;
      const Problem problem =
          materialise(parsed(std::string(keys) + " fill=" + std::string(name(fill.fill))));
      EXPECT_EQ(static_cast<std::int64_t>(problem.activations.size()),
                problem.spec.m * problem.spec.k);
    }
  }
}

TEST(Materialise, KeepZeroesTheOtherActivationsAndNothingElse) {
  const Problem all = materialise(parsed("m=3 k=64 n=8 group=32 seed=9"));
  const Problem some = materialise(parsed("m=3 k=64 n=8 group=32 seed=9 keep=3,40-41"));
  EXPECT_EQ(all.matrix.q, some.matrix.q);
  EXPECT_FALSE(some.coverage.has_value());
  for (std::size_t i = 0; i < some.activations.size(); ++i) {
    const std::size_t k = i % 64;
    EXPECT_EQ(some.activations[i], k == 3 || k == 40 || k == 41 ? all.activations[i] : 0);
  }
}

/// The same bits on every machine and from every compiler: goldens and caches rest on it.
TEST(Materialise, BitsArePinned) {
  std::string all;
  for (const FillRow& fill : fills()) {
    if (fill.fill == Fill::checkpoint) continue;
    const Problem p = materialise(parsed("m=5 k=256 n=72 group=64 order=random seed=11 fill=" +
                                         std::string(name(fill.fill))));
    all += sha256(std::as_bytes(std::span(p.activations))) +
           sha256(std::as_bytes(std::span(p.layer.qweight))) +
           sha256(std::as_bytes(std::span(p.layer.qzeros))) +
           sha256(std::as_bytes(std::span(p.layer.scales)));
  }
  EXPECT_EQ(sha256(all), "83b3609a2e9dcc5c655b8f86b2c0ee585137b76a3a451f18d26d7f27c48acb13");
}

}  // namespace
}  // namespace bitgate::conformance
