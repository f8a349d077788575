#pragma once

#include <cstdint>
#include <vector>

#include "conformance/problem/problem.h"

namespace bitgate::conformance {

/// The outputs whose values are judged: all of them, or of a problem beyond `kWholeProducts`
/// products a fixed choice of rows × columns. Whether everything was written, and nothing beside
/// it, is asked of all outputs always.
struct Selection {
  std::vector<std::int64_t> rows;  ///< ascending
  std::vector<std::int64_t> cols;  ///< ascending
  bool whole = true;

  std::int64_t size() const {
    return static_cast<std::int64_t>(rows.size()) * static_cast<std::int64_t>(cols.size());
  }
};

constexpr std::int64_t kWholeProducts = 20'000'000'000;

/// The first and the last rows and columns are always among the chosen; the others are spread
/// evenly and moved by the seed.
Selection select_outputs(const Problem& problem);

/// The chosen columns of the weights and rows of the activations as a problem of its own.
struct SelectedOperands {
  formats::QuantizedMatrix matrix;         ///< [k][cols]
  std::vector<std::uint16_t> activations;  ///< [rows][k]
};
SelectedOperands select_operands(const Problem& problem, const Selection& selection);

}  // namespace bitgate::conformance
