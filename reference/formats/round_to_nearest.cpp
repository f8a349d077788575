#include "reference/formats/round_to_nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "reference/numeric/half.h"
#include "reference/support/error.h"

namespace bitgate::formats {
namespace {

constexpr double kLargestCode = 15;
constexpr double kSymmetricZero = 8;
constexpr std::uint16_t kSmallestScale = 1;
constexpr std::uint16_t kInfinity = 0x7c00;

struct Range {
  double low = 0;
  double high = 0;
};

struct Parameters {
  std::uint16_t scale_bits = 0;
  double scale = 0;
  double zero = 0;
};

void set_scale(Parameters& p, double wanted) {
  p.scale_bits = std::max(numeric::to_half(wanted).bits, kSmallestScale);
  if (p.scale_bits >= kInfinity) {
    throw InputError(fmt::format("a group needs a scale of {}, and f16 ends at 65504", wanted));
  }
  p.scale = static_cast<double>(numeric::to_float(numeric::Half{p.scale_bits}));
}

Parameters choose(const Range& range, ZeroPoints zeros) {
  Parameters p;
  const bool empty = range.low == 0 && range.high == 0;
  if (zeros == ZeroPoints::sym) {
    p.zero = kSymmetricZero;
    set_scale(p, empty ? 1 : std::max(range.high / 7, -range.low / 8));
    return p;
  }
  set_scale(p, empty ? 1 : (range.high - range.low) / kLargestCode);
  p.zero = std::min(std::nearbyint(-range.low / p.scale), kLargestCode);
  if (zeros == ZeroPoints::gptq_v1 && p.zero < 1) {
    p.zero = 1;
    if (!empty) set_scale(p, std::max(range.high / (kLargestCode - 1), -range.low));
  }
  return p;
}

/// Rows by falling sum of squares over the columns, ties by index.
std::vector<std::int32_t> order_by_norm(std::span<const float> weights, std::int64_t k,
                                        std::int64_t n) {
  std::vector<double> squares(static_cast<std::size_t>(k));
  for (std::int64_t column = 0; column < n; ++column) {
    const float* const row = weights.data() + column * k;
    for (std::size_t i = 0; i < squares.size(); ++i) {
      squares[i] += static_cast<double>(row[i]) * static_cast<double>(row[i]);
    }
  }
  std::vector<std::int32_t> order(squares.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const double square_a = squares[static_cast<std::size_t>(a)];
    const double square_b = squares[static_cast<std::size_t>(b)];
    return square_a != square_b ? square_a > square_b : a < b;
  });
  return order;
}

}  // namespace

QuantizedMatrix round_to_nearest(std::span<const float> weights, std::int64_t k, std::int64_t n,
                                 const QuantConfig& config) {
  if (config.scale_type != numeric::ScalarType::f16) {
    throw Unsupported("round-to-nearest writes f16 scales only");
  }
  const auto bad =
      std::find_if(weights.begin(), weights.end(), [](float w) { return !std::isfinite(w); });
  if (bad != weights.end()) {
    throw InputError(
        fmt::format("the weight of row {}, column {} is {}: only finite ones can be "
                    "quantised",
                    (bad - weights.begin()) % k, (bad - weights.begin()) / k, *bad));
  }
  QuantizedMatrix m;
  m.k = k;
  m.n = n;
  m.group = resolve_group(config.group_size, k);
  m.scale_type = config.scale_type;
  m.q.resize(static_cast<std::size_t>(k * n));
  m.z.resize(static_cast<std::size_t>(m.groups() * n));
  m.scales.resize(m.z.size());
  m.g_idx.resize(static_cast<std::size_t>(k));
  std::vector<std::int32_t> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  if (config.act_order) order = order_by_norm(weights, k, n);
  for (std::int64_t p = 0; p < k; ++p) {
    m.g_idx[static_cast<std::size_t>(order[static_cast<std::size_t>(p)])] =
        static_cast<std::int32_t>(p / m.group);
  }

  std::vector<Range> ranges(static_cast<std::size_t>(m.groups()));
  std::vector<Parameters> parameters(ranges.size());
  for (std::int64_t column = 0; column < n; ++column) {
    const float* const w = weights.data() + column * k;
    std::fill(ranges.begin(), ranges.end(), Range{});
    for (std::size_t row = 0; row < m.g_idx.size(); ++row) {
      Range& range = ranges[static_cast<std::size_t>(m.g_idx[row])];
      range.low = std::min(range.low, static_cast<double>(w[row]));
      range.high = std::max(range.high, static_cast<double>(w[row]));
    }
    for (std::size_t g = 0; g < ranges.size(); ++g) {
      parameters[g] = choose(ranges[g], config.zero_points);
      const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(g) * n + column);
      m.scales[at] = parameters[g].scale_bits;
      m.z[at] = static_cast<std::uint8_t>(parameters[g].zero);
    }
    for (std::size_t row = 0; row < m.g_idx.size(); ++row) {
      const Parameters& p = parameters[static_cast<std::size_t>(m.g_idx[row])];
      const double code = std::nearbyint(static_cast<double>(w[row]) / p.scale) + p.zero;
      m.q[static_cast<std::size_t>(static_cast<std::int64_t>(row) * n + column)] =
          static_cast<std::uint8_t>(std::clamp(code, 0.0, kLargestCode));
    }
  }
  return m;
}

}  // namespace bitgate::formats
