#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/nan.h"
#include "reference/numeric/half.h"

// Instructions of which PTX bounds the error and fixes no bits (PTX ISA 9.7.3, 9.7.4). The model:
// the exact function of the operand, through the C library in f64, rounded to nearest even in the
// instruction's type. So its error is within PTX's bound, but its last bits are not a GPU's; every
// row is marked approximate, and no result of theirs proves bits.
//
// Special cases as PTX tables them: results of NaN, and of operands outside the domain, are NaN
// (0x7fffffff, 0x7fff); .ftz reads and writes subnormals as zeros of the same sign; f32 sin, cos,
// lg2, ex2, rcp, rsqrt and sqrt keep subnormals without it. div.approx gives 0 for |b| above 2^126
// (NaN for an infinite a), as a·(1/b) with a reciprocal below the normal numbers flushed. The f64
// forms with .approx.ftz give the upper 32 bits of the result, the lower ones are zero.

namespace bitgate::machine {

namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

double exp2_of(double v) { return std::exp2(v); }
double log2_of(double v) { return std::log2(v); }
double sine_of(double v) { return std::sin(v); }
double cosine_of(double v) { return std::cos(v); }
double tanh_of(double v) { return std::tanh(v); }
double reciprocal_of(double v) { return 1.0 / v; }
double root_of(double v) { return std::sqrt(v); }
double reciprocal_root_of(double v) { return 1.0 / std::sqrt(v); }

float narrowed(double v) { return canonical(static_cast<float>(v)); }

template <bool Flush, double (*Function)(double)>
float single(float v) {
  const float r = narrowed(Function(static_cast<double>(Flush ? flush(v) : v)));
  return Flush ? flush(r) : r;
}

template <auto F>
[[gnu::cold]] void add_row(DecodeTable& table, const std::string& mnemonic) {
  DecodeTable::Row row = scalar_lanes<F>(mnemonic);
  row.approximate = true;
  table.add(row);
}

template <double (*Function)(double)>
[[gnu::cold]] void single_rows(DecodeTable& table, const std::string& opcode) {
  add_row<[](float v) -> float { return single<false, Function>(v); }>(table,
                                                                       opcode + ".approx.f32");
  add_row<[](float v) -> float { return single<true, Function>(v); }>(table,
                                                                      opcode + ".approx.ftz.f32");
}

template <class Half, double (*Function)(double)>
U16 half_of(U16 bits) {
  const double v = Function(static_cast<double>(numeric::to_float(Half{bits})));
  if constexpr (std::is_same_v<Half, numeric::Half>) {
    return numeric::to_half(v).bits;
  } else {
    return numeric::to_bfloat16(v).bits;
  }
}

/// `name` is the mnemonic up to its type.
template <class Half, double (*Function)(double)>
[[gnu::cold]] void half_rows(DecodeTable& table, const std::string& name, const std::string& type) {
  add_row<[](U16 v) -> U16 { return half_of<Half, Function>(v); }>(table, name + "." + type);
  add_row<[](U32 v) -> U32 {
    return static_cast<U32>(half_of<Half, Function>(static_cast<U16>(v >> 16))) << 16 |
           half_of<Half, Function>(static_cast<U16>(v));
  }>(table, name + "." + type + "x2");
}

/// ex2.approx.ftz.bf16: subnormals of bf16 are those of f32.
U16 flushed_exp2(U16 bits) {
  const U16 v = (bits & 0x7f80U) == 0 ? static_cast<U16>(bits & 0x8000U) : bits;
  const U16 r = half_of<numeric::BFloat16, exp2_of>(v);
  return (r & 0x7f80U) == 0 ? static_cast<U16>(r & 0x8000U) : r;
}

template <bool Flush>
float divide_approximately(float a, float b) {
  const float x = Flush ? flush(a) : a;
  const float y = Flush ? flush(b) : b;
  constexpr float kLargest = 0x1p126F;
  const float r = std::abs(y) > kLargest && !std::isinf(y)
                      ? canonical(x * std::copysign(0.0F, y))
                      : narrowed(static_cast<double>(x) / static_cast<double>(y));
  return Flush ? flush(r) : r;
}

template <bool Flush>
float divide_fully(float a, float b) {
  const float x = Flush ? flush(a) : a;
  const float y = Flush ? flush(b) : b;
  const float r = canonical(x / y);
  return Flush ? flush(r) : r;
}

double flush_double(double v) {
  const auto bits = std::bit_cast<U64>(v);
  return (bits & 0x7ff0000000000000ULL) == 0 ? std::bit_cast<double>(bits & 0x8000000000000000ULL)
                                             : v;
}

template <double (*Function)(double)>
double upper_half(double v) {
  if (is_nan(v)) return quiet(v);
  const double r = flush_double(Function(flush_double(v)));
  return std::bit_cast<double>(std::bit_cast<U64>(r) & 0xffffffff00000000ULL);
}

}  // namespace

[[gnu::cold]] void add_approximate_rows(DecodeTable& table) {
  single_rows<exp2_of>(table, "ex2");
  single_rows<log2_of>(table, "lg2");
  single_rows<sine_of>(table, "sin");
  single_rows<cosine_of>(table, "cos");
  single_rows<reciprocal_of>(table, "rcp");
  single_rows<root_of>(table, "sqrt");
  single_rows<reciprocal_root_of>(table, "rsqrt");
  add_row<[](float v) -> float { return single<false, tanh_of>(v); }>(table, "tanh.approx.f32");

  half_rows<numeric::Half, exp2_of>(table, "ex2.approx", "f16");
  half_rows<numeric::Half, tanh_of>(table, "tanh.approx", "f16");
  half_rows<numeric::BFloat16, tanh_of>(table, "tanh.approx", "bf16");
  add_row<[](U16 v) -> U16 { return flushed_exp2(v); }>(table, "ex2.approx.ftz.bf16");
  add_row<[](U32 v) -> U32 {
    return static_cast<U32>(flushed_exp2(static_cast<U16>(v >> 16))) << 16 |
           flushed_exp2(static_cast<U16>(v));
  }>(table, "ex2.approx.ftz.bf16x2");

  add_row<[](float a, float b) -> float { return divide_approximately<false>(a, b); }>(
      table, "div.approx.f32");
  add_row<[](float a, float b) -> float { return divide_approximately<true>(a, b); }>(
      table, "div.approx.ftz.f32");
  add_row<[](float a, float b) -> float { return divide_fully<false>(a, b); }>(table,
                                                                               "div.full.f32");
  add_row<[](float a, float b) -> float { return divide_fully<true>(a, b); }>(table,
                                                                              "div.full.ftz.f32");

  add_row<[](double v) -> double { return upper_half<reciprocal_of>(v); }>(table,
                                                                           "rcp.approx.ftz.f64");
  add_row<[](double v) -> double { return upper_half<reciprocal_root_of>(v); }>(
      table, "rsqrt.approx.ftz.f64");
  add_row<[](double v) -> double { return is_nan(v) ? quiet(v) : reciprocal_root_of(v); }>(
      table, "rsqrt.approx.f64");
}

}  // namespace bitgate::machine
