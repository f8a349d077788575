#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "reference/formats/quantized_matrix.h"
#include "reference/numeric/half.h"
#include "reference/oracle/activations.h"
#include "reference/support/random.h"

namespace bitgate::oracle::testing {

/// Inputs of one product, for tests.
struct TestProblem {
  formats::QuantizedMatrix w;
  std::vector<std::uint16_t> bits;
  std::int64_t m = 0;
  std::int64_t lda = 0;

  Activations a() const { return {w.scale_type, m, w.k, lda, bits}; }
};

struct TestShape {
  std::int64_t m = 4;
  std::int64_t k = 64;
  std::int64_t n = 16;
  std::int64_t group = 32;
  numeric::ScalarType type = numeric::ScalarType::f16;
  bool act_order = false;
  std::uint8_t z_low = 0;
  std::uint8_t z_high = 16;
};

/// A roughly normal number: the sum of four uniform ones, with some outliers.
inline double spread(Random& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += random.uniform() - 0.5;
  return random.chance(0.01) ? 16 * sum : sum;
}

/// Weights, zero points and activations with a realistic spread; gaps of lda hold NaN.
inline TestProblem make_problem(const TestShape& shape, std::uint64_t seed) {
  Random random(seed, "oracle test problem");
  TestProblem problem;
  auto& w = problem.w;
  w.k = shape.k;
  w.n = shape.n;
  w.group = shape.group;
  w.scale_type = shape.type;
  problem.m = shape.m;
  problem.lda = shape.k + (seed % 2 == 0 ? 0 : 8);
  const auto k = static_cast<std::size_t>(shape.k);
  const auto n = static_cast<std::size_t>(shape.n);
  const auto groups = static_cast<std::size_t>(w.groups());
  w.q.resize(k * n);
  for (auto& q : w.q) {
    const double code = 8 + 6 * spread(random);
    q = static_cast<std::uint8_t>(std::clamp(code, 0.0, 15.0));
  }
  w.z.resize(groups * n);
  for (auto& z : w.z) z = static_cast<std::uint8_t>(random.between(shape.z_low, shape.z_high));
  w.scales.resize(groups * n);
  for (auto& scale : w.scales) {
    scale = numeric::round_to(shape.type, 0.01 * std::exp2(random.uniform() * 3 - 1.5));
  }
  w.g_idx.resize(k);
  for (std::size_t row = 0; row < k; ++row) {
    w.g_idx[row] = static_cast<std::int32_t>(static_cast<std::int64_t>(row) / shape.group);
  }
  if (shape.act_order) {
    for (std::size_t i = k; i > 1; --i) std::swap(w.g_idx[i - 1], w.g_idx[random.below(i)]);
  }
  problem.bits.assign(static_cast<std::size_t>(shape.m * problem.lda), 0x7fff);
  for (std::int64_t row = 0; row < shape.m; ++row) {
    for (std::int64_t column = 0; column < shape.k; ++column) {
      problem.bits[static_cast<std::size_t>(row * problem.lda + column)] =
          numeric::round_to(shape.type, spread(random));
    }
  }
  return problem;
}

inline std::vector<std::int32_t> identity_order(std::int64_t k) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace bitgate::oracle::testing
