#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/machine/exec/matrix.h"
#include "reference/machine/exec/matrix_fragments.h"
#include "reference/machine/exec/nan.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/numeric/half.h"
#include "reference/numeric/tensor_dot.h"

// mma.m8n8k4 of f16 (PTX ISA 9.7.14.5.1): Volta's shape, four products by the pairs of quads
// {0-3, 16-19}, {4-7, 20-23}, … Later architectures have no such instruction: ptxas 13.0 makes
// shuffles and f32 arithmetic of it, whose bits an H200 gives:
//   f32: c + fma(a3, b3, fma(a2, b2, fma(a1, b1, a0·b0)))
//   f16: (c + fma(a1, b1, a0·b0)) + fma(a3, b3, a2·b2), rounded to f16.
// The tensor model 'volta' sums as its tensor cores do.

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;

constexpr std::size_t kSide = 8;
constexpr std::size_t kDepth = 4;

struct VoltaForm {
  bool a_is_col = false;
  bool b_is_col = false;
  bool half = false;
  bool unused = false;
};
static_assert(sizeof(VoltaForm) == 4);

/// Lane `within` of the low or the high quad of a pair.
std::size_t lane_of(std::size_t pair, std::size_t within, bool high) {
  return 4 * pair + within + (high ? 16 : 0);
}

/// An element of two registers of f16x2.
U32 element(const Context& x, const U32* registers, std::size_t lane, std::size_t i) {
  return x.lanes32(registers[i / 2])[lane] >> (16 * (i % 2)) & 0xffffU;
}

/// A's row or B's column `line`, in the order of k. `along_lines`: a lane holds all k of one line.
std::array<U32, kDepth> read_line(const Context& x, const U32* registers, bool along_lines,
                                  std::size_t pair, std::size_t line) {
  std::array<U32, kDepth> elements{};
  for (std::size_t k = 0; k < kDepth; ++k) {
    elements[k] = along_lines ? element(x, registers, lane_of(pair, line % 4, line >= 4), k)
                              : element(x, registers, lane_of(pair, k, line >= 4), line % 4);
  }
  return elements;
}

float value(U32 half) { return numeric::to_float(numeric::Half{static_cast<std::uint16_t>(half)}); }

std::uint16_t to_half(float v) {
  return is_nan(v) ? kNan16 : numeric::to_half(static_cast<double>(v)).bits;
}

float sum_f32(const numeric::TensorModel& model, bool native, const std::array<U32, kDepth>& a,
              const std::array<U32, kDepth>& b, float c) {
  constexpr auto kF16 = numeric::TensorType::f16;
  if (native) return numeric::tensor_dot(model, kF16, kF16, a, b, c);
  float products = 0;
  for (std::size_t k = 0; k < kDepth; ++k) products = std::fma(value(a[k]), value(b[k]), products);
  return canonical(c + products);
}

std::uint16_t sum_f16(const numeric::TensorModel& model, bool native,
                      const std::array<U32, kDepth>& a, const std::array<U32, kDepth>& b,
                      std::uint16_t c) {
  constexpr auto kF16 = numeric::TensorType::f16;
  if (native) return numeric::tensor_dot_f16(model, kF16, kF16, a, b, c);
  const float low = std::fma(value(a[1]), value(b[1]), value(a[0]) * value(b[0]));
  const float high = std::fma(value(a[3]), value(b[3]), value(a[2]) * value(b[2]));
  return to_half((value(c) + low) + high);
}

/// List: the form, then d, two of A, two of B, c.
void mma_m8n8k4(Context& x, const Op& op) {
  const U32* list = x.state->code->lists.data() + op.list;
  const auto form = read_form<VoltaForm>(list);
  const std::size_t accumulators = form.half ? 4 : 8;
  const U32* d = list + kFormWords<VoltaForm>;
  const U32* a = d + accumulators;
  const U32* b = a + 2;
  const U32* c = b + 2;
  const numeric::TensorModel& model = *x.state->tensor_model;
  const bool native = model.compute_capability_major == 7 && model.compute_capability_minor == 0;
  std::array<std::array<U32, 8>, kLanes> results{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t pair = lane % 16 / 4;
    const bool high = lane >= 16;
    for (std::size_t i = 0; i < kSide; ++i) {
      const std::size_t row =
          (form.half ? lane % 4 : (lane & 1U) + (i & 2U)) + (high ? std::size_t{4} : 0);
      const std::size_t column = form.half ? i : (i & 4U) + (lane & 2U) + (i & 1U);
      const auto left = read_line(x, a, !form.a_is_col, pair, row);
      const auto right = read_line(x, b, form.b_is_col, pair, column);
      if (form.half) {
        const auto sum = static_cast<std::uint16_t>(element(x, c, lane, i));
        results[lane][i] = sum_f16(model, native, left, right, sum);
      } else {
        const auto sum = std::bit_cast<float>(x.lanes32(c[i])[lane]);
        results[lane][i] = std::bit_cast<U32>(sum_f32(model, native, left, right, sum));
      }
    }
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < accumulators; ++i) {
      x.lanes32(d[i])[lane] =
          form.half ? results[lane][2 * i + 1] << 16 | results[lane][2 * i] : results[lane][i];
    }
  }
  ++x.state->tensor_instructions;
}

/// mma.sync.aligned.m8n8k4.ALAYOUT.BLAYOUT.D.f16.f16.C
void decode_m8n8k4(InstructionBuilder& builder) {
  VoltaForm form;
  form.a_is_col = builder.modifier(3) == "col";
  form.b_is_col = builder.modifier(4) == "col";
  form.half = builder.modifier(5) == "f16";
  const std::size_t accumulators = form.half ? 4 : 8;
  const Immediates immediates = form.half ? Immediates::integer : Immediates::f32;
  builder.begin_list();
  list_form(builder, form);
  list_fragment(builder, 0, accumulators, true);
  list_fragment(builder, 1, 2, false);
  list_fragment(builder, 2, 2, false);
  list_fragment(builder, 3, accumulators, false, Kind::b32, immediates);
  whole_warp(builder, &mma_m8n8k4);
}

}  // namespace

void add_volta_mma_rows(DecodeTable& table) {
  for (const std::string& mnemonic : expand_braces(
           "mma.sync.aligned.m8n8k4.{row,col}.{row,col}.{f32.f16.f16.f32,f16.f16.f16.f16}")) {
    table.decoder(mnemonic, &decode_m8n8k4);
  }
  table.unsupported("mma.sync.aligned.m8n8k4.{row,col}.{row,col}.{f32.f16.f16.f16,f16.f16.f16.f32}",
                    "with accumulators of two types, what ptxas makes of it was not measured");
}

}  // namespace bitgate::machine
