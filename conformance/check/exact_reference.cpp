#include "conformance/check/exact_reference.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "reference/numeric/half.h"

namespace bitgate::conformance {
namespace {

struct Entry {
  std::size_t row = 0;
  float value = 0;
};

/// The non-zero activations, by k.
class Columns {
 public:
  Columns(std::int64_t m, std::int64_t k, numeric::ScalarType type,
          std::span<const std::uint16_t> activations)
      : begin_(static_cast<std::size_t>(k) + 1) {
    const auto width = static_cast<std::size_t>(k);
    for (std::size_t row = 0; row < static_cast<std::size_t>(m); ++row) {
      for (std::size_t i = 0; i < width; ++i) {
        if (activations[row * width + i] != 0) ++begin_[i + 1];
      }
    }
    for (std::size_t i = 0; i < width; ++i) begin_[i + 1] += begin_[i];
    entries_.resize(begin_[width]);
    std::vector<std::size_t> next(begin_);
    for (std::size_t row = 0; row < static_cast<std::size_t>(m); ++row) {
      for (std::size_t i = 0; i < width; ++i) {
        const std::uint16_t bits = activations[row * width + i];
        if (bits != 0) entries_[next[i]++] = {row, numeric::to_float(type, bits)};
      }
    }
  }
  std::span<const Entry> of(std::int64_t k) const {
    const std::size_t begin = begin_[static_cast<std::size_t>(k)];
    return std::span(entries_).subspan(begin, begin_[static_cast<std::size_t>(k) + 1] - begin);
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<Entry> entries_;
};

constexpr std::size_t kBlock = 128;  ///< columns whose sums stay in the first cache

}  // namespace

std::vector<std::uint16_t> exact_outputs(const formats::QuantizedMatrix& matrix, std::int64_t m,
                                         std::span<const std::uint16_t> activations) {
  const auto n = static_cast<std::size_t>(matrix.n);
  const Columns columns(m, matrix.k, matrix.scale_type, activations);
  std::vector<float> scales(matrix.scales.size());
  std::ranges::transform(matrix.scales, scales.begin(), [&](std::uint16_t bits) {
    return numeric::to_float(matrix.scale_type, bits);
  });

  std::vector<std::uint16_t> out(static_cast<std::size_t>(m) * n);
  std::vector<float> sums(static_cast<std::size_t>(m) * kBlock);
  std::array<float, kBlock> weight;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t width = std::min(kBlock, n - begin);
    std::ranges::fill(sums, 0.0F);
    for (std::int64_t k = 0; k < matrix.k; ++k) {
      const auto entries = columns.of(k);
      if (entries.empty()) continue;
      const auto g = static_cast<std::size_t>(matrix.g_idx[static_cast<std::size_t>(k)]);
      const std::uint8_t* q = &matrix.q[static_cast<std::size_t>(k) * n + begin];
      const std::uint8_t* z = &matrix.z[g * n + begin];
      const float* scale = &scales[g * n + begin];
      for (std::size_t j = 0; j < width; ++j) {
        weight[j] = scale[j] * static_cast<float>(static_cast<int>(q[j]) - static_cast<int>(z[j]));
      }
      for (const Entry& entry : entries) {
        float* sum = &sums[entry.row * kBlock];
        for (std::size_t j = 0; j < width; ++j) sum[j] += entry.value * weight[j];
      }
    }
    for (std::size_t row = 0; row < static_cast<std::size_t>(m); ++row) {
      for (std::size_t j = 0; j < width; ++j) {
        // Adding +0 makes a -0, of a product with zero, the +0 that a sum from +0 gives.
        out[row * n + begin + j] =
            numeric::round_to(matrix.scale_type, static_cast<double>(sums[row * kBlock + j]) + 0.0);
      }
    }
  }
  return out;
}

}  // namespace bitgate::conformance
