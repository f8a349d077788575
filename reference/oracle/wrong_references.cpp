#include "reference/oracle/wrong_references.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "reference/numeric/half.h"
#include "reference/oracle/gemm_oracle.h"
#include "reference/oracle/operands.h"
#include "reference/oracle/running_bound.h"
#include "reference/support/error.h"

namespace bitgate::oracle {
namespace {

constexpr std::size_t kStep = 16;

EffectiveColumn right_column(const Reading& reading, std::int64_t n) {
  EffectiveColumn column;
  column.activation = reading.order;
  column.weights.reserve(reading.order.size());
  for (const std::int32_t row : reading.order) {
    float weight = 0;
    dequantize_row(reading.matrix, WeightForm::integer, row, n, 1, &weight);
    column.weights.push_back(weight);
  }
  return column;
}

void round_weights(numeric::ScalarType type, EffectiveColumn& column) {
  for (float& weight : column.weights) {
    weight = numeric::to_float(type, numeric::round_to(type, static_cast<double>(weight)));
  }
}

RunningBound product(const Activations& a, std::int64_t row, const EffectiveColumn& column) {
  RunningBound running;
  if (column.weights.empty()) return running;  // A may then have no elements to point at
  const std::uint16_t* bits = a.bits.data() + row * a.lda;
  for (std::size_t p = 0; p < column.weights.size(); p += kStep) {
    StepOfProducts step;
    for (std::size_t i = p; i < std::min(p + kStep, column.weights.size()); ++i) {
      step.add(static_cast<double>(column.weights[i]) *
               static_cast<double>(numeric::to_float(a.type, bits[column.activation[i]])));
    }
    running.step(step);
  }
  return running;
}

// Elements of one column: what a hypothesis is asked about with its weights made once.
struct ColumnSample {
  std::int64_t col = 0;
  std::vector<WrongElement> elements;
};

std::vector<WrongElement> spread_sample(std::span<const WrongElement> elements,
                                        std::size_t sample) {
  if (elements.size() <= sample) return {elements.begin(), elements.end()};
  std::vector<WrongElement> chosen;
  for (std::size_t i = 0; i < sample; ++i) {
    chosen.push_back(elements[i * elements.size() / sample]);
  }
  return chosen;
}

std::vector<ColumnSample> by_column(std::vector<WrongElement> elements) {
  std::stable_sort(elements.begin(), elements.end(),
                   [](const auto& x, const auto& y) { return x.col < y.col; });
  std::vector<ColumnSample> columns;
  for (const WrongElement& element : elements) {
    if (columns.empty() || columns.back().col != element.col) columns.push_back({element.col, {}});
    columns.back().elements.push_back(element);
  }
  return columns;
}

class Examiner {
 public:
  Examiner(const Reading& reading, const Activations& a, WeightForm form)
      : reading_(reading), a_(a), form_(form) {}

  // Drops what the right reading gives, too.
  std::vector<ColumnSample> wrong_only(std::vector<ColumnSample> columns) const {
    for (ColumnSample& sample : columns) {
      const EffectiveColumn column = finished(right_column(reading_, sample.col));
      std::erase_if(sample.elements, [&](const auto& element) { return gives(column, element); });
    }
    std::erase_if(columns, [](const auto& sample) { return sample.elements.empty(); });
    return columns;
  }

  // How many elements a hypothesis gives; stops once more than `misses_allowed` are not.
  std::int64_t explained(const Hypothesis& hypothesis, const std::vector<ColumnSample>& columns,
                         std::int64_t misses_allowed) const {
    std::int64_t hits = 0;
    std::int64_t misses = 0;
    for (const ColumnSample& sample : columns) {
      EffectiveColumn column = right_column(reading_, sample.col);
      hypothesis.apply(reading_, sample.col, column);
      column = finished(std::move(column));
      for (const WrongElement& element : sample.elements) {
        (gives(column, element) ? hits : misses) += 1;
        if (misses > misses_allowed) return hits;
      }
    }
    return hits;
  }

 private:
  EffectiveColumn finished(EffectiveColumn column) const {
    if (form_ == WeightForm::scaled) round_weights(reading_.matrix.scale_type, column);
    return column;
  }
  bool gives(const EffectiveColumn& column, const WrongElement& element) const {
    const RunningBound running = product(a_, element.row, column);
    return accepts(a_.type, element.got, running.sum(), running.bound());
  }

  const Reading& reading_;
  const Activations& a_;
  WeightForm form_;
};

}  // namespace

std::vector<Explanation> explain(const formats::PackedLayer& layer,
                                 const formats::QuantizedMatrix& matrix, const Activations& a,
                                 WeightForm form, std::span<const WrongElement> elements,
                                 double at_least, std::size_t sample) {
  require_operands(a, matrix);
  for (const WrongElement& element : elements) {
    if (element.row < 0 || element.row >= a.m || element.col < 0 || element.col >= matrix.n) {
      throw InputError("a wrong element outside the output");
    }
  }
  const Reading reading{layer, matrix, formats::sort_by_group(matrix)};
  const Examiner examiner(reading, a, form);
  const auto columns = examiner.wrong_only(by_column(spread_sample(elements, sample)));
  std::int64_t asked = 0;
  for (const ColumnSample& column : columns) {
    asked += static_cast<std::int64_t>(column.elements.size());
  }
  if (asked == 0) return {};

  const auto needed = static_cast<std::int64_t>(std::ceil(at_least * static_cast<double>(asked)));
  std::vector<Explanation> found;
  for (const Hypothesis& hypothesis : hypotheses()) {
    if (!hypothesis.applies(reading)) continue;
    const std::int64_t hits = examiner.explained(hypothesis, columns, asked - needed);
    if (hits >= std::max<std::int64_t>(needed, 1)) found.push_back({&hypothesis, hits, asked});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.explained > y.explained; });
  return found;
}

std::vector<double> wrong_reference(const Hypothesis& hypothesis, const formats::PackedLayer& layer,
                                    const formats::QuantizedMatrix& matrix, const Activations& a) {
  require_operands(a, matrix);
  const Reading reading{layer, matrix, formats::sort_by_group(matrix)};
  std::vector<double> out(static_cast<std::size_t>(a.m * matrix.n));
  for (std::int64_t n = 0; n < matrix.n; ++n) {
    EffectiveColumn column = right_column(reading, n);
    hypothesis.apply(reading, n, column);
    for (std::int64_t m = 0; m < a.m; ++m) {
      out[static_cast<std::size_t>(m * matrix.n + n)] = product(a, m, column).sum();
    }
  }
  return out;
}

}  // namespace bitgate::oracle
