#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "reference/formats/quantized_matrix.h"
#include "reference/oracle/activations.h"
#include "reference/oracle/arithmetic.h"

namespace bitgate::oracle {

/// What a wrong reference reads: the checkpoint's tensors, their right reading, and the row order
/// sorted by group (position p is row order[p]).
struct Reading {
  const formats::PackedLayer& layer;
  const formats::QuantizedMatrix& matrix;
  std::vector<std::int32_t> order;
};

/// A column of the product as a mistake would compute it: Σ_p weights[p] · a[row, activation[p]]
/// over the positions p.
struct EffectiveColumn {
  std::vector<float> weights;            ///< [k]
  std::vector<std::int32_t> activation;  ///< [k] columns of A
};

/// One mistake, by the name that a report prints.
struct Hypothesis {
  std::string name;     ///< "zero_point_off_by_one"
  std::string variant;  ///< "+1"; empty when there is one form
  std::string says;     ///< one sentence for people
  /// Whether the mistake can be made with this layer at all (one of AWQ's cannot with GPTQ's).
  std::function<bool(const Reading&)> applies;
  /// Turns the right column n into the mistaken one.
  std::function<void(const Reading&, std::int64_t n, EffectiveColumn&)> apply;
};

/// All of them, plainer ones first.
const std::vector<Hypothesis>& hypotheses();

/// An element of the output and the bits a kernel gave for it.
struct WrongElement {
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::uint16_t got = 0;
};

struct Explanation {
  const Hypothesis* hypothesis = nullptr;
  std::int64_t explained = 0;  ///< elements that it gives, within the accumulation's error
  std::int64_t of = 0;
};

/// The hypotheses that give at least `at_least` of the elements, best first, plainer first among
/// equals. Elements that the right reading gives, too, prove nothing and are left out; so is a
/// hypothesis that gives what the right reading gives everywhere. Takes a sample of at most
/// `sample` elements, spread evenly. InputError when the operands do not fit.
std::vector<Explanation> explain(const formats::PackedLayer& layer,
                                 const formats::QuantizedMatrix& matrix, const Activations& a,
                                 WeightForm form, std::span<const WrongElement> elements,
                                 double at_least = 0.9, std::size_t sample = 256);

/// The outputs [m][n] under one hypothesis, in f64: for tests and for people.
std::vector<double> wrong_reference(const Hypothesis& hypothesis, const formats::PackedLayer& layer,
                                    const formats::QuantizedMatrix& matrix, const Activations& a);

}  // namespace bitgate::oracle
