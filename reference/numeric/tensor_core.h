#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/numeric/scalar_type.h"

namespace bitgate::numeric {

/// How a tensor core adds the products of one mma, as a row of parameters.
///
/// Each product is exact (subnormals kept). E is the largest exponent among the products of a part
/// and the accumulator, a product's exponent being e(a)+e(b) unnormalised; every term is truncated
/// toward zero to a multiple of 2^(E - fraction_bits); the sum is exact; the result is rounded
/// toward zero to f32. NaN results are 0x7fffffff; a zero sum is +0, and so is a negative one that
/// underflows. Zero terms take no part in E, except that E is at least -126, and a sum of 2^128 or
/// more is infinite: both as in MMA-Sim (arXiv 2511.10909), neither measured here by itself. With
/// `parts` = 2 the lower half of k is summed first and its result is the accumulator of the upper
/// half.
struct TensorModel {
  std::string_view name;  ///< as on the command line: "hopper"
  int compute_capability_major;
  int compute_capability_minor;
  int fraction_bits;
  int parts;      ///< sums that k16 of f16/bf16 is split into
  bool measured;  ///< on hardware here, else as published
  std::string_view evidence;
};

std::span<const TensorModel> tensor_models();
/// InputError naming the known ones when there is none of that name.
const TensorModel& tensor_model(std::string_view name);
const TensorModel& tensor_model_for(int compute_capability_major, int compute_capability_minor);

/// d = c + sum over 16 products, one output element of mma.m16n8k16 (f16 or bf16 → f32).
/// a and b hold 16 element bits each.
float tensor_core_dot16(const TensorModel& model, ScalarType type, const std::uint16_t* a,
                        const std::uint16_t* b, float c);

/// D = A·B + C for a whole m16n8k16 tile: a [16][16] row-major (m,k), b [8][16] (n,k), c and d
/// [16][8] row-major; d may be c. Bit-identical to tensor_core_dot16, some hundred times faster
/// (AVX2).
void tensor_core_m16n8k16(const TensorModel& model, ScalarType type, const std::uint16_t* a,
                          const std::uint16_t* b, const float* c, float* d);

}  // namespace bitgate::numeric
