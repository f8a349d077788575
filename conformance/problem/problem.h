#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "conformance/problem/coverage.h"
#include "conformance/problem/spec.h"
#include "reference/formats/quantized_matrix.h"

namespace bitgate::conformance {

/// How the outputs of a fill are judged.
enum class Judge {
  exact,  ///< every summation order gives the single rounding of the exact sum
  replay  ///< the bits depend on the order: the declared arithmetic is replayed
};

/// A spec with its inputs, all of them functions of the spec alone.
struct Problem {
  Spec spec;
  kernels::w4a16::Shape shape;
  Judge judge = Judge::exact;
  formats::QuantizedMatrix matrix;         ///< what the weights mean
  formats::PackedLayer layer;              ///< the same, as a checkpoint of the spec's convention
  std::vector<std::uint16_t> activations;  ///< [m][k] bits of the type, without the gaps of lda
  std::optional<Coverage> coverage;        ///< of an exact fill over all of k
};

/// InputError for a spec that does not hold together, an unreadable checkpoint, or one that is not
/// what the spec says.
///
/// What a kernel must not read holds junk: `qzeros` of a symmetric layer and `g_idx` without
/// act-order are there, as in public checkpoints, and filled with random values.
Problem materialise(const Spec& spec);

/// g_idx of the spec's order, exactly `group` rows of each group: `identity` k / group; `reversed`
/// the same from the last row; `random` a uniform permutation of it; `skewed` all rows of every
/// third group first, the others shuffled after them.
std::vector<std::int32_t> group_index(const Spec& spec);

}  // namespace bitgate::conformance
