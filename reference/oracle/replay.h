#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/formats/quantized_matrix.h"
#include "reference/numeric/tensor_core.h"
#include "reference/oracle/activations.h"
#include "reference/oracle/arithmetic.h"

namespace bitgate::oracle {

/// The bits that a kernel of the declared arithmetic gives on a tensor core of `model`, in the type
/// of the activations, [m][n].
///
/// `order` says which row of W and which column of A position p is: formats::sort_by_group, or 0,
/// 1, 2, … . InputError when the operands or the order do not fit, when activations and scales are
/// not of one type, or when the declaration does not hold together: a position or a group out of
/// range, a tensor-core run that is not whole steps of 16, a run whose positions are of another
/// group, padding in a fused run, a join of a missing chain. Whether every position occurs once is
/// not asked here (positions_missing).
///
/// Uses OpenMP; the bits do not depend on the number of threads.
std::vector<std::uint16_t> replay(const Arithmetic& arithmetic, const numeric::TensorModel& model,
                                  const Activations& a, const formats::QuantizedMatrix& w,
                                  std::span<const std::int32_t> order);

/// The same for chosen rows and columns of the output, [rows.size()][cols.size()]. InputError when
/// one is out of range.
std::vector<std::uint16_t> replay(const Arithmetic& arithmetic, const numeric::TensorModel& model,
                                  const Activations& a, const formats::QuantizedMatrix& w,
                                  std::span<const std::int32_t> order,
                                  std::span<const std::int64_t> rows,
                                  std::span<const std::int64_t> cols);

/// How many of the k positions the declaration does not use exactly once. 0 for a declaration that
/// is a sum over all of k.
std::int64_t positions_missing(const Arithmetic& arithmetic, std::int64_t k);

}  // namespace bitgate::oracle
