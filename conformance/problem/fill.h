#pragma once

#include <span>
#include <string_view>

#include "conformance/problem/problem.h"

namespace bitgate::conformance {

/// What the buffers of a problem hold. One file a fill (fill_NAME.cpp); to add one, write it, give
/// it a row in fill.cpp and a name in spec.cpp.
struct FillRow {
  Fill fill;
  std::string_view says;  ///< one sentence for people
  Judge judge;
  /// Fills matrix.q, matrix.z, matrix.scales and activations, all sized by the caller; sizes,
  /// group, type and g_idx of the matrix are set. Every z is one that the spec's convention can
  /// hold.
  void (*make)(Problem& problem);
};

std::span<const FillRow> fills();
const FillRow& row_of(Fill fill);

/// Zero points that a convention can hold, both included.
struct ZeroRange {
  std::uint8_t low = 0;
  std::uint8_t high = 15;
};
/// sym 8..8, gptq_v1 1..16, gptq_v2 and awq 0..15.
ZeroRange zero_range(ZeroKey zero);

void fill_exact(Problem& problem);
void fill_real(Problem& problem);
void fill_probe_identity(Problem& problem);
void fill_probe_ones(Problem& problem);
void fill_probe_columns(Problem& problem);
void fill_probe_scales(Problem& problem);
void fill_checkpoint(Problem& problem);

/// One 1 in each row of A: rows walk through the groups, from one that the seed chooses, at a
/// random k of it (fill.cpp).
void select_one_index_per_row(Problem& problem, std::string_view purpose);

/// Activations of the real and the checkpoint fill (fill_real.cpp).
void fill_real_activations(Problem& problem);

}  // namespace bitgate::conformance
