#pragma once

#include <cstdint>
#include <vector>

namespace bitgate::oracle {

/// What a W4A16 kernel declares it computes for every output element, as a tree over *positions*:
/// position p is row order[p] of the checkpoint, where order sorts k by group (identity without
/// act-order). Written by hand per kernel in terms of geometry, K and split; never derived from
/// output.
///
///   chain: f32 accumulator, starts at +0. Its runs are added one after the other.
///   run, WeightForm::integer:  part = +0; for each step part = step(part); acc = fma(scale, part,
///   acc)
///        WeightForm::scaled:   for each step acc = step(acc), weights being rn_type(scale*(q-z))
///   step, Product::tensor_core: c + the 16 products of its positions by the tensor model
///         Product::fused:       one position, fma(weight, activation, c) in f32
///   joins: ordered list, chain[into] = chain[into] + chain[from] (f32, nearest even)
///   the result is chain[0] rounded to the output type, nearest even.
enum class WeightForm { integer, scaled };
enum class Product { tensor_core, fused };

struct Run {
  std::int32_t group = 0;  ///< scale row; every position of the run is of this group
  /// Flattened steps: 16 positions a step for tensor_core (-1: a zero product, k padding; both
  /// operands are +0), 1 for fused.
  std::vector<std::int32_t> positions;
};

struct Chain {
  std::vector<Run> runs;
};

struct Join {
  std::int32_t into = 0;
  std::int32_t from = 0;
};

struct Arithmetic {
  WeightForm weights = WeightForm::integer;
  Product product = Product::tensor_core;
  std::vector<Chain> chains;
  std::vector<Join> joins;
};

}  // namespace bitgate::oracle
