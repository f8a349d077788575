#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/numeric/scalar_type.h"

namespace bitgate::numeric {

/// How an mma adds products of e4m3 and e5m2 (k16 and k32).
struct Fp8Rule {
  enum class Kind : std::uint8_t {
    absent,  ///< the architecture has no such instruction
    /// As TensorModel says, with numbers of its own; the result is cut to `result_fraction_bits`.
    sums,
    /// Two f16 mma from a zero accumulator, the elements of k with k % 4 in {0, 1} first, then the
    /// others on top of them; then an ordinary add.rn with c. So compiles ptxas 13.0 for sm_90.
    two_f16_mma
  };
  Kind kind = Kind::absent;
  int fraction_bits = 0;
  int parts = 0;  ///< sums that k32 is split into
  int result_fraction_bits = 0;
  bool measured = false;
  std::string_view evidence = {};
};

/// How a tensor core adds the products of one mma, as a row of parameters.
///
/// Each product is exact (subnormals kept; of tf32, the low 13 bits are not read). E is the largest
/// exponent among the products of a part and the accumulator, a product's exponent being e(a)+e(b)
/// and a subnormal's its type's smallest (of an f16 accumulator too: one of 10^5 outputs shows it);
/// every term is truncated toward zero to a multiple of 2^(E - fraction_bits); the sum is exact;
/// the result is rounded toward zero to f32, or to nearest even to f16 where the accumulator is
/// f16. NaN results are 0x7fffffff and 0x7fff; a zero sum is +0, and so is a negative one that
/// underflows; a sum of 2^128 or more is infinite. Zero terms take no part in E, except that E is
/// at least -126: as in MMA-Sim (arXiv 2511.10909), which no vector recorded here tells apart. With
/// `parts` = 2 the lower half of k is summed first and its result is the accumulator of the upper
/// half; a shorter instruction (f16 k8, tf32 k4) is one part. Of a sparse A only the selected
/// products are terms.
///
/// f64 and integers are the same on all: f64 is a chain of fma in the order of k, NaN included (an
/// H200, rn, all shapes), integers are exact.
struct TensorModel {
  std::string_view name;  ///< as on the command line: "hopper"
  int compute_capability_major;
  int compute_capability_minor;
  int fraction_bits;
  int parts;      ///< sums that f16 and bf16 k16 and tf32 k8 are split into
  bool measured;  ///< on hardware here, else as published
  std::string_view evidence;
  Fp8Rule fp8 = {};
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
