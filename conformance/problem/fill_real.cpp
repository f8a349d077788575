// The real fill: what a layer and its inputs look like, with properties that keep a small defect
// visible after rounding to 8 bits (conformance/check/sensitivity_test.cpp measures them).
// Activations lean to one side, as they do behind a gate, so that a group's zero point weighs; a
// group's weights have no mean, so that this lean does not drown everything else; scales of
// neighbouring groups differ by a factor near 2.2; outliers are few. All numbers come from integers
// by IEEE operations, never from libm, whose last bits differ between machines.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "conformance/problem/fill.h"
#include "reference/numeric/half.h"
#include "reference/support/random.h"

namespace bitgate::conformance {
namespace {

constexpr float kWeightSpread = 0.02F;
constexpr float kAlternation = 2.2F;
constexpr float kMostSkew = 0.15F;
constexpr double kActivationMean = 1.5;
constexpr double kOutlier = 20.0;

/// Sum of four uniform 16-bit numbers, centred and scaled to unit variance: a bell within ±3.46.
float bell(Random& random) {
  const std::uint64_t bits = random.next();
  const auto sum = static_cast<std::int32_t>((bits & 0xffffU) + ((bits >> 16) & 0xffffU) +
                                             ((bits >> 32) & 0xffffU) + (bits >> 48));
  constexpr float kOverSpread = 1.0F / 37837.2F;  // 2^16 * sqrt(4 / 12)
  return static_cast<float>(sum - 131070) * kOverSpread;
}

/// Nearest integer, ties to even, for |x| < 2^22.
float nearest(float x) {
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23
  return (x + kShift) - kShift;
}

constexpr std::size_t kBlock = 64;

/// One group of up to 64 columns: round-to-nearest quantisation between its extremes.
class GroupQuantiser {
 public:
  GroupQuantiser(Problem& problem, Random& random)
      : matrix_(problem.matrix),
        symmetric_(problem.spec.zero == ZeroKey::sym),
        range_(zero_range(problem.spec.zero)),
        random_(random),
        weights_(static_cast<std::size_t>(matrix_.group)) {}

  void quantise(std::span<const std::int32_t> rows, std::int64_t g, std::int64_t begin,
                std::int64_t end) {
    const auto width = static_cast<std::size_t>(end - begin);
    draw_weights(g);
    Columns over_scale;
    Columns zero;
    for (std::size_t j = 0; j < width; ++j) {
      const float low = std::min(low_[j], 0.0F);
      const float high = std::max(high_[j], 0.0F);
      const float wanted = symmetric_ ? std::max(-low, high) / 7.5F : (high - low) / 15.0F;
      const std::uint16_t bits = numeric::round_to(matrix_.scale_type, wanted);
      const float scale = numeric::to_float(matrix_.scale_type, bits);
      over_scale[j] = 1.0F / scale;
      zero[j] = symmetric_
                    ? 8.0F
                    : std::clamp(nearest(-low * over_scale[j]), static_cast<float>(range_.low),
                                 static_cast<float>(range_.high));
      const auto at = static_cast<std::size_t>(g * matrix_.n + begin) + j;
      matrix_.scales[at] = bits;
      matrix_.z[at] = static_cast<std::uint8_t>(zero[j]);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::uint8_t* q = &matrix_.q[static_cast<std::size_t>(rows[i] * matrix_.n + begin)];
      for (std::size_t j = 0; j < width; ++j) {
        const float code = nearest(weights_[i][j] * over_scale[j]) + zero[j];
        q[j] = static_cast<std::uint8_t>(std::clamp(code, 0.0F, 15.0F));
      }
    }
  }

 private:
  using Columns = std::array<float, kBlock>;

  void draw_weights(std::int64_t g) {
    const float spread = kWeightSpread * (g % 2 == 1 ? kAlternation : 1.0F);
    Columns scale;
    Columns skew;
    Columns mean{};
    for (std::size_t j = 0; j < kBlock; ++j) {
      scale[j] = spread * (1.0F + 0.05F * bell(random_));
      skew[j] = kMostSkew * bell(random_);
    }
    for (Columns& row : weights_) {
      for (std::size_t j = 0; j < kBlock; ++j) {
        const float x = bell(random_);
        row[j] = scale[j] * (x + skew[j] * x * x);
        mean[j] += row[j];
      }
    }
    for (float& m : mean) m /= static_cast<float>(weights_.size());
    low_.fill(0.0F);
    high_.fill(0.0F);
    for (Columns& row : weights_) {
      for (std::size_t j = 0; j < kBlock; ++j) {
        row[j] -= mean[j];
        low_[j] = std::min(low_[j], row[j]);
        high_[j] = std::max(high_[j], row[j]);
      }
    }
  }

  formats::QuantizedMatrix& matrix_;
  bool symmetric_;
  ZeroRange range_;
  Random& random_;
  std::vector<Columns> weights_;
  Columns low_{};
  Columns high_{};
};

}  // namespace

void fill_real_activations(Problem& problem) {
  Random random(problem.spec.seed, "real activations");
  const auto k_size = static_cast<std::size_t>(problem.spec.k);
  if (k_size == 0) return;
  std::vector<double> channel(k_size, 1.0);
  for (std::size_t i = 0; i < 1 + k_size / 8192; ++i) channel[random.below(k_size)] = kOutlier;
  for (std::size_t i = 0; i < problem.activations.size(); ++i) {
    const double value =
        channel[i % k_size] * (kActivationMean + static_cast<double>(bell(random)));
    problem.activations[i] = numeric::round_to(problem.spec.type, value);
  }
}

void fill_real(Problem& problem) {
  fill_real_activations(problem);
  Random random(problem.spec.seed, "real weights");
  GroupQuantiser quantiser(problem, random);
  const std::vector<std::int32_t> order = formats::sort_by_group(problem.matrix);
  constexpr auto kColumns = static_cast<std::int64_t>(kBlock);
  const auto group = static_cast<std::size_t>(problem.matrix.group);
  for (std::int64_t g = 0; g < problem.matrix.groups(); ++g) {
    const auto rows = std::span(order).subspan(static_cast<std::size_t>(g) * group, group);
    for (std::int64_t n = 0; n < problem.spec.n; n += kColumns) {
      quantiser.quantise(rows, g, n, std::min(n + kColumns, problem.spec.n));
    }
  }
}

}  // namespace bitgate::conformance
