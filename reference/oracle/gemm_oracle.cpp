#include "reference/oracle/gemm_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "reference/numeric/half.h"
#include "reference/oracle/operands.h"
#include "reference/oracle/running_bound.h"
#include "reference/support/error.h"

namespace bitgate::oracle {
namespace {

constexpr std::size_t kStep = 16;
constexpr std::size_t kColumns = 32;
constexpr std::size_t kProductsWorthThreads = 1 << 18;  // below, waking them costs more

template <typename T>
using Columns = std::array<T, kColumns>;

// The 16 rows of a step of W, the chosen columns of one block.
class StepWeights {
 public:
  StepWeights(const formats::QuantizedMatrix& w, WeightForm form,
              std::span<const std::int64_t> cols)
      : w_(w), form_(form), cols_(cols) {}

  void load(std::span<const std::int32_t> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t c = 0; c < cols_.size(); ++c) {
        float weight = 0;
        dequantize_row(w_, form_, rows[i], cols_[c], 1, &weight);
        weights_[i][c] = static_cast<double>(weight);
      }
    }
  }
  const Columns<double>& operator[](std::size_t i) const { return weights_[i]; }

 private:
  const formats::QuantizedMatrix& w_;
  WeightForm form_;
  std::span<const std::int64_t> cols_;
  std::array<Columns<double>, kStep> weights_{};
};

std::vector<std::int64_t> all(std::int64_t count) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

void require_indices(std::span<const std::int64_t> indices, std::int64_t limit,
                     std::string_view what) {
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= limit) {
      throw InputError(fmt::format("{} {} is outside 0..{}", what, index, limit - 1));
    }
  }
}

}  // namespace

OracleResult gemm_oracle(const Activations& a, const formats::QuantizedMatrix& w, WeightForm form) {
  return gemm_oracle(a, w, form, all(a.m), all(w.n));
}

OracleResult gemm_oracle(const Activations& a, const formats::QuantizedMatrix& w, WeightForm form,
                         std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) {
  require_operands(a, w);
  require_indices(rows, a.m, "row");
  require_indices(cols, w.n, "column");
  const std::vector<std::int32_t> order = formats::sort_by_group(w);
  OracleResult result;
  result.value.resize(rows.size() * cols.size());
  result.bound.resize(rows.size() * cols.size());

  const auto blocks = static_cast<std::int64_t>((cols.size() + kColumns - 1) / kColumns);
  const bool worth_threads = rows.size() * cols.size() * order.size() >= kProductsWorthThreads;
#pragma omp parallel for schedule(static) if (worth_threads)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::size_t first = static_cast<std::size_t>(block) * kColumns;
    const auto chosen = cols.subspan(first, std::min(kColumns, cols.size() - first));
    StepWeights weights(w, form, chosen);
    std::vector<Columns<RunningBound>> elements(rows.size());
    for (std::size_t p = 0; p < order.size(); p += kStep) {
      const auto step = std::span(order).subspan(p, std::min(kStep, order.size() - p));
      weights.load(step);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::uint16_t* bits = a.bits.data() + rows[r] * a.lda;
        Columns<double> sum{};
        Columns<double> largest{};
        Columns<double> net_sign{};
        for (std::size_t i = 0; i < step.size(); ++i) {
          const auto x = static_cast<double>(numeric::to_float(a.type, bits[step[i]]));
          for (std::size_t c = 0; c < kColumns; ++c) {
            const double product = x * weights[i][c];
            sum[c] += product;
            largest[c] = std::max(largest[c], std::abs(product));
            net_sign[c] += (product > 0 ? 1.0 : 0.0) - (product < 0 ? 1.0 : 0.0);
          }
        }
        for (std::size_t c = 0; c < chosen.size(); ++c) {
          elements[r][c].step({sum[c], largest[c], net_sign[c]});
        }
      }
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < chosen.size(); ++c) {
        result.value[r * cols.size() + first + c] = elements[r][c].sum();
        result.bound[r * cols.size() + first + c] = elements[r][c].bound();
      }
    }
  }
  return result;
}

bool accepts(numeric::ScalarType type, std::uint16_t bits, double value, double bound) {
  const float got = numeric::to_float(type, bits);
  if (std::isnan(value)) return std::isnan(got);
  if (std::isinf(value)) return static_cast<double>(got) == value;
  const float low = numeric::to_float(type, numeric::round_to(type, value - bound));
  const float high = numeric::to_float(type, numeric::round_to(type, value + bound));
  return low <= got && got <= high;
}

}  // namespace bitgate::oracle
