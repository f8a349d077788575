#include "conformance/problem/fill_exact.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <vector>

#include "conformance/problem/fill.h"
#include "reference/numeric/half.h"
#include "reference/support/random.h"

namespace bitgate::conformance {
namespace {

constexpr std::int64_t kDenseRows = 64;
constexpr std::int64_t kRowsPerIndex = 4;  ///< dense rows that one k is non-zero in
constexpr std::int64_t kSparseEntries = 3;
static_assert(kSparseEntries * 16 * 4 < ExactFill::output_limit(numeric::ScalarType::bf16));

/// A non-zero activation of a dense row.
struct Entry {
  std::int32_t slot = 0;  ///< dense row
  std::int32_t value = 0;
};

/// The dense rows' activations, by k.
struct DenseRows {
  std::vector<std::int64_t> rows;            ///< [slot]: row of A
  std::vector<std::vector<Entry>> by_index;  ///< [k]
};

std::vector<std::int64_t> choose_dense_rows(std::int64_t m, Random& random) {
  const std::int64_t slots = std::min(m, kDenseRows);
  std::vector<std::int64_t> rows;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t begin = slot * m / slots;
    const std::int64_t end = (slot + 1) * m / slots;
    rows.push_back(random.between(begin, end - 1));
  }
  return rows;
}

std::int32_t signed_value(std::int32_t magnitude, Random& random) {
  return random.chance(0.5) ? magnitude : -magnitude;
}

/// In a group whose activations sum to zero in every row, no zero point would be seen.
void let_groups_see_their_zero_points(std::span<const std::int32_t> g_idx, std::int64_t groups,
                                      DenseRows& dense) {
  const std::size_t slots = dense.rows.size();
  std::vector<std::int64_t> sums(static_cast<std::size_t>(groups) * slots);
  std::vector<Entry*> first(static_cast<std::size_t>(groups));
  for (std::size_t k = 0; k < g_idx.size(); ++k) {
    const auto g = static_cast<std::size_t>(g_idx[k]);
    for (Entry& entry : dense.by_index[k]) {
      sums[g * slots + static_cast<std::size_t>(entry.slot)] += entry.value;
      if (first[g] == nullptr) first[g] = &entry;
    }
  }
  for (std::size_t g = 0; g < first.size(); ++g) {
    const auto of_group = std::span(sums).subspan(g * slots, slots);
    if (first[g] == nullptr || std::ranges::any_of(of_group, [](auto s) { return s != 0; })) {
      continue;
    }
    std::int32_t& value = first[g]->value;
    value = std::abs(value) == 1 ? 2 * value : value / 2;
  }
}

DenseRows choose_dense_activations(const Problem& problem, Random& random) {
  const std::int64_t k_size = problem.spec.k;
  DenseRows dense{.rows = choose_dense_rows(problem.spec.m, random), .by_index = {}};
  dense.by_index.resize(static_cast<std::size_t>(k_size));
  const auto slots = static_cast<std::int64_t>(dense.rows.size());
  if (slots == 0 || k_size == 0) return dense;

  const std::int64_t per_index = std::min(slots, kRowsPerIndex);
  // Beyond this K not every k can be non-zero without a sum of 2^24 units: each stride-th is.
  const std::int64_t entries = k_size * per_index / slots + 1;
  const std::int64_t stride = entries * ExactFill::largest_term / ExactFill::sum_limit + 1;
  const auto phase = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(stride)));
  std::vector<bool> used(static_cast<std::size_t>(slots));
  for (std::int64_t k = phase; k < k_size; k += stride) {
    const auto turn = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(slots)));
    for (std::int64_t i = 0; i < per_index; ++i) {
      const std::int64_t slot = (turn + i * (slots / per_index)) % slots;
      const std::int32_t magnitude = random.chance(0.5) ? 1 : 2;
      dense.by_index[static_cast<std::size_t>(k)].push_back(
          {static_cast<std::int32_t>(slot), signed_value(magnitude, random)});
      used[static_cast<std::size_t>(slot)] = true;
    }
  }
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    if (used[static_cast<std::size_t>(slot)]) continue;
    const std::uint64_t k = random.below(static_cast<std::uint64_t>(k_size));
    dense.by_index[k].push_back({static_cast<std::int32_t>(slot), signed_value(1, random)});
  }
  let_groups_see_their_zero_points(problem.matrix.g_idx, problem.matrix.groups(), dense);
  return dense;
}

void store_activations(const DenseRows& dense, Problem& problem, Random& random) {
  const std::int64_t m = problem.spec.m;
  const std::int64_t k_size = problem.spec.k;
  std::array<std::uint16_t, 5> bits{};  // of -2 … 2
  for (int value = -2; value <= 2; ++value) {
    bits[static_cast<std::size_t>(value + 2)] = numeric::round_to(problem.spec.type, value);
  }
  const auto put = [&](std::int64_t row, std::int64_t k, std::int32_t value) {
    problem.activations[static_cast<std::size_t>(row * k_size + k)] =
        bits[static_cast<std::size_t>(value + 2)];
  };
  for (std::int64_t k = 0; k < k_size; ++k) {
    for (const Entry& entry : dense.by_index[static_cast<std::size_t>(k)]) {
      put(dense.rows[static_cast<std::size_t>(entry.slot)], k, entry.value);
    }
  }
  std::size_t slot = 0;
  const std::int64_t parts = std::min(k_size, kSparseEntries);
  for (std::int64_t row = 0; row < m; ++row) {
    if (slot < dense.rows.size() && dense.rows[slot] == row) {
      ++slot;
      continue;
    }
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t k = random.between(part * k_size / parts, (part + 1) * k_size / parts - 1);
      put(row, k, signed_value(1, random));
    }
  }
}

/// Exponents 0, 1, 2 of scales in units; [groups][n].
std::vector<std::uint8_t> choose_scales(Problem& problem, Random& random) {
  const auto n = static_cast<std::size_t>(problem.spec.n);
  std::array<std::uint16_t, 3> bits{};
  for (int e = 0; e < 3; ++e) {
    bits[static_cast<std::size_t>(e)] =
        numeric::round_to(problem.spec.type, ExactFill::unit * (1 << e));
  }
  std::vector<std::uint8_t> exponents(problem.matrix.scales.size());
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    exponents[i] = static_cast<std::uint8_t>(i < n ? random.below(3)
                                                   : (exponents[i - n] + 1U + random.below(2)) % 3);
    problem.matrix.scales[i] = bits[exponents[i]];
  }
  return exponents;
}

void choose_zero_points(Problem& problem, Random& random) {
  const ZeroRange range = zero_range(problem.spec.zero);
  for (std::uint8_t& z : problem.matrix.z) {
    z = static_cast<std::uint8_t>(random.between(range.low, range.high));
  }
}

constexpr std::size_t kBlock = 64;  ///< columns steered together
using Lanes = std::array<std::int32_t, kBlock>;

/// Steers q of some columns so that |running sum| <= bound in every dense row, along k.
class Steering {
 public:
  Steering(const DenseRows& dense, std::span<const std::uint8_t> exponents, Problem& problem)
      : dense_(dense),
        exponents_(exponents),
        matrix_(problem.matrix),
        bound_(static_cast<std::int32_t>(ExactFill::output_limit(problem.spec.type) - 1)),
        sums_(dense.rows.size()) {}

  void columns(std::int64_t begin, std::int64_t end, Random& random) {
    // Only z = 16 leaves no q that stands still: q - z is then -1 at best. A column that it led
    // astray does without, so that this ends.
    do walk(begin, end, random);
    while (replace_sixteens_where_too_large(begin, end));
  }

 private:
  void walk(std::int64_t begin, std::int64_t end, Random& random) {
    for (Lanes& sum : sums_) sum.fill(0);
    Lanes zero;
    Lanes exponent;
    zero.fill(8);
    exponent.fill(0);
    const auto width = static_cast<std::size_t>(end - begin);
    std::int32_t loaded = -1;
    for (std::int64_t k = 0; k < matrix_.k; ++k) {
      const std::int32_t group = matrix_.g_idx[static_cast<std::size_t>(k)];
      if (group != loaded) {
        const auto at = static_cast<std::size_t>(group * matrix_.n + begin);
        for (std::size_t j = 0; j < width; ++j) {
          zero[j] = matrix_.z[at + j];
          exponent[j] = exponents_[at + j];
        }
        loaded = group;
      }
      std::uint8_t* const q = &matrix_.q[static_cast<std::size_t>(k * matrix_.n + begin)];
      step(dense_.by_index[static_cast<std::size_t>(k)], zero, exponent, random, q, width);
    }
  }

  /// Chooses q of one k, uniform in what keeps every row within the bound.
  void step(std::span<const Entry> entries, const Lanes& zero, const Lanes& exponent,
            Random& random, std::uint8_t* q_out, std::size_t width) {
    Lanes low;
    Lanes high;
    Lanes q;
    Lanes draw;
    for (std::size_t j = 0; j < kBlock; ++j) {
      low[j] = -zero[j];
      high[j] = 15 - zero[j];
    }
    for (const Entry& entry : entries) {
      const Lanes& sum = sums_[static_cast<std::size_t>(entry.slot)];
      const std::int32_t sign = entry.value < 0 ? -1 : 1;
      const std::int32_t twice = std::abs(entry.value) - 1;
      for (std::size_t j = 0; j < kBlock; ++j) {
        const std::int32_t shift = exponent[j] + twice;
        const std::int32_t along = sign * sum[j];
        low[j] = std::max(low[j], -((bound_ + along) >> shift));
        high[j] = std::min(high[j], (bound_ - along) >> shift);
      }
    }
    for (std::size_t j = 0; j < kBlock; j += 4) {
      const std::uint64_t bits = random.next();
      for (std::size_t i = 0; i < 4; ++i) {
        draw[j + i] = static_cast<std::int32_t>((bits >> (16 * i)) & 0xffffU);
      }
    }
    for (std::size_t j = 0; j < kBlock; ++j) {
      const std::int32_t chosen = low[j] + ((draw[j] * (high[j] - low[j] + 1)) >> 16);
      const std::int32_t still = std::min(0, 15 - zero[j]);
      q[j] = high[j] < low[j] ? still : chosen;
    }
    for (const Entry& entry : entries) {
      Lanes& sum = sums_[static_cast<std::size_t>(entry.slot)];
      for (std::size_t j = 0; j < kBlock; ++j) sum[j] += (entry.value * q[j]) << exponent[j];
    }
    for (std::size_t j = 0; j < width; ++j) q_out[j] = static_cast<std::uint8_t>(q[j] + zero[j]);
  }

  bool replace_sixteens_where_too_large(std::int64_t begin, std::int64_t end) {
    bool replaced = false;
    for (std::int64_t n = begin; n < end; ++n) {
      const auto too_large = [&](const Lanes& sum) {
        return std::abs(sum[static_cast<std::size_t>(n - begin)]) > bound_;
      };
      if (std::ranges::none_of(sums_, too_large)) continue;
      replaced = true;
      for (std::int64_t g = 0; g < matrix_.groups(); ++g) {
        std::uint8_t& z = matrix_.z[static_cast<std::size_t>(g * matrix_.n + n)];
        z = std::min<std::uint8_t>(z, 15);
      }
    }
    return replaced;
  }

  const DenseRows& dense_;
  std::span<const std::uint8_t> exponents_;
  formats::QuantizedMatrix& matrix_;
  std::int32_t bound_;
  std::vector<Lanes> sums_;
};

}  // namespace

void fill_exact(Problem& problem) {
  Random random(problem.spec.seed, "exact activations");
  const DenseRows dense = choose_dense_activations(problem, random);
  store_activations(dense, problem, random);

  random = Random(problem.spec.seed, "exact weights");
  choose_zero_points(problem, random);
  const std::vector<std::uint8_t> exponents = choose_scales(problem, random);
  Steering steering(dense, exponents, problem);
  constexpr auto kColumns = static_cast<std::int64_t>(kBlock);
  for (std::int64_t n = 0; n < problem.spec.n; n += kColumns) {
    steering.columns(n, std::min(n + kColumns, problem.spec.n), random);
  }
}

}  // namespace bitgate::conformance
