#include "reference/machine/exec/matrix.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "reference/machine/exec/matrix_fragments.h"
#include "reference/machine/exec/rounding.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// mma.sync with a dense A (PTX ISA 9.7.14.5). Bits: numeric/tensor_core.h.

namespace bitgate::machine {

namespace {

using numeric::BitProduct;
using numeric::TensorType;
using numeric::TileRow;
using U32 = std::uint32_t;

constexpr std::size_t kMostRows = 16;

struct MmaForm {
  TensorType a{};
  TensorType b{};
  TensorType accumulator{};
  std::uint8_t row_groups = 0;  ///< of eight rows of A
  std::uint8_t blocks = 0;      ///< of 16 bytes of k (f64: of 32)
  bool saturate = false;
  BitProduct product{};
  Rounding rounding{};
};
static_assert(sizeof(MmaForm) == 8);

/// List: the form, then d, A, B, c.
struct MmaOperands {
  MmaForm form;
  const U32* d;
  const U32* a;
  const U32* b;
  const U32* c;

  MmaOperands(const Context& x, const Op& op, std::size_t accumulators_a_group) {
    const U32* list = x.state->code->lists.data() + op.list;
    form = read_form<MmaForm>(list);
    d = list + kFormWords<MmaForm>;
    a = d + form.row_groups * accumulators_a_group;
    b = a + form.row_groups * form.blocks;
    c = b + form.blocks;
    ++x.state->tensor_instructions;
  }
};

struct Rows {
  std::array<TileRow, kMostRows> a{};
  std::array<TileRow, kFragmentColumns> b{};
  std::size_t count;

  Rows(const Context& x, const MmaOperands& operands)
      : count(operands.form.row_groups * kFragmentRows) {
    read_rows(x, operands.a, operands.form.row_groups, operands.form.blocks, a);
    read_rows(x, operands.b, 1, operands.form.blocks, b);
  }
  std::span<const TileRow> left() const { return std::span(a).first(count); }
};

void mma_f32(Context& x, const Op& op) {
  const MmaOperands operands(x, op, 2);
  const MmaForm& form = operands.form;
  require_type(x, form.a);
  const Rows rows(x, operands);
  alignas(32) float c[kMostRows * kFragmentColumns];
  read_accumulators(x, operands.c, form.row_groups, c);
  numeric::tensor_tile(*x.state->tensor_model, form.a, form.b, rows.left(), rows.b, c, c);
  write_accumulators(x, operands.d, form.row_groups, c);
}

void mma_f16(Context& x, const Op& op) {
  const MmaOperands operands(x, op, 1);
  const MmaForm& form = operands.form;
  require_type(x, form.a);
  const Rows rows(x, operands);
  alignas(32) std::uint16_t c[kMostRows * kFragmentColumns];
  read_half_accumulators(x, operands.c, form.row_groups, c);
  numeric::tensor_tile_f16(*x.state->tensor_model, form.a, form.b, rows.left(), rows.b, c, c);
  write_half_accumulators(x, operands.d, form.row_groups, c);
}

void mma_s32(Context& x, const Op& op) {
  const MmaOperands operands(x, op, 2);
  const MmaForm& form = operands.form;
  const Rows rows(x, operands);
  alignas(32) std::int32_t c[kMostRows * kFragmentColumns];
  read_accumulators(x, operands.c, form.row_groups, c);
  if (form.a == TensorType::b1) {
    numeric::bit_tile(form.product, rows.left(), rows.b, c, c);
  } else {
    numeric::integer_tile(form.a, form.b, rows.left(), rows.b, form.saturate, c, c);
  }
  write_accumulators(x, operands.d, form.row_groups, c);
}

/// f64: a register of A, B is eight rows of four elements, of c and d eight rows of columns 2t, of
/// the next one of columns 2t + 1.
void mma_f64(Context& x, const Op& op) {
  const MmaOperands operands(x, op, 2);
  const MmaForm& form = operands.form;
  const std::size_t rows = form.row_groups * kFragmentRows;
  double d[kMostRows * kFragmentColumns];
  const RoundingScope scope(form.rounding);
  const auto element = [&](const U32* registers, std::size_t index, std::size_t group,
                           std::size_t t) {
    return reinterpret_cast<const double*>(x.lanes64(registers[index]))[group * 4 + t];
  };
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t n = 0; n < kFragmentColumns; ++n) {
      double sum = element(operands.c, m / 8 * 2 + n % 2, m % 8, n / 2);
      for (std::size_t k = 0; k < form.blocks * std::size_t{4}; ++k) {
        sum = matrix_fma(element(operands.a, k / 4 * form.row_groups + m / 8, m % 8, k % 4),
                         element(operands.b, k / 4, n, k % 4), sum);
      }
      d[m * kFragmentColumns + n] = sum;
    }
  }
  for (std::size_t i = 0; i < rows * kFragmentColumns; ++i) {
    const std::size_t m = i / kFragmentColumns;
    const std::size_t n = i % kFragmentColumns;
    auto* lanes = reinterpret_cast<double*>(x.lanes64(operands.d[m / 8 * 2 + n % 2]));
    lanes[m % 8 * 4 + n / 2] = d[i];
  }
}

unsigned number_after(const std::string& text, char letter) {
  unsigned value = 0;
  for (std::size_t i = text.find(letter) + 1; i < text.size() && text[i] >= '0' && text[i] <= '9';
       ++i) {
    value = 10 * value + static_cast<unsigned>(text[i] - '0');
  }
  return value;
}

/// mma.sync.aligned.SHAPE.row.col{.satfinite}{.rnd}.D.A.B.C{.op.popc}: only whole mnemonics of the
/// table come here.
void decode_mma(InstructionBuilder& builder) {
  MmaForm form;
  form.saturate = builder.has("satfinite");
  if (builder.has("and")) form.product = BitProduct::bit_and;
  for (const Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp}) {
    if (builder.has(name(rounding))) form.rounding = rounding;
  }
  const std::vector<TensorType> types = tensor_types(builder);  // of d, a, b, c
  form.accumulator = types.at(0);
  form.a = types.at(1);
  form.b = types.at(2);
  const std::string& shape = builder.modifier(2);
  form.row_groups = static_cast<std::uint8_t>(number_after(shape, 'm') / kFragmentRows);
  const bool f64 = form.a == TensorType::f64;
  const unsigned bits = number_after(shape, 'k') * static_cast<unsigned>(layout(form.a).bits);
  form.blocks = static_cast<std::uint8_t>(bits / (f64 ? 256 : 128));

  const bool half = form.accumulator == TensorType::f16;
  const std::size_t accumulators = form.row_groups * (half ? std::size_t{1} : std::size_t{2});
  const Kind kind = f64 ? Kind::b64 : Kind::b32;
  const Immediates immediates = f64                                   ? Immediates::f64
                                : form.accumulator == TensorType::f32 ? Immediates::f32
                                                                      : Immediates::integer;
  builder.begin_list();
  list_form(builder, form);
  list_fragment(builder, 0, accumulators, true, kind);
  list_fragment(builder, 1, std::size_t{form.row_groups} * form.blocks, false, kind, immediates);
  list_fragment(builder, 2, form.blocks, false, kind, immediates);
  list_fragment(builder, 3, accumulators, false, kind, immediates);
  whole_warp(builder, f64                                   ? &mma_f64
                      : half                                ? &mma_f16
                      : form.accumulator == TensorType::f32 ? &mma_f32
                                                            : &mma_s32);
}

}  // namespace

void add_mma_rows(DecodeTable& table) {
  for (const char* forms :
       {"mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.{f16.f16,bf16.bf16}.f32",
        "mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f16.f16.f16.f16",
        "mma.sync.aligned.{m16n8k4,m16n8k8}.row.col.f32.tf32.tf32.f32",
        "mma.sync.aligned.{m16n8k16,m16n8k32}.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32",
        "mma.sync.aligned.{m16n8k16,m16n8k32}.row.col.f16.{e4m3,e5m2}.{e4m3,e5m2}.f16",
        "mma.sync.aligned.{m8n8k4,m16n8k4,m16n8k8,m16n8k16}.row.col{,.rn,.rz,.rm,.rp}.f64.f64.f64."
        "f64",
        "mma.sync.aligned.{m8n8k16,m16n8k16,m16n8k32}.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32",
        "mma.sync.aligned.{m8n8k32,m16n8k32,m16n8k64}.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32",
        "mma.sync.aligned.{m8n8k128,m16n8k128,m16n8k256}.row.col.s32.b1.b1.s32.{xor,and}.popc"}) {
    for (const std::string& mnemonic : expand_braces(forms)) {
      table.decoder(mnemonic, &decode_mma);
    }
  }
  table.unsupported("mma", "its shape, types or scaling are of sm_100 and later, or unknown");
}

void add_matrix_rows(DecodeTable& table) {
  add_mma_rows(table);
  add_volta_mma_rows(table);
  add_sparse_mma_rows(table);
  add_matrix_move_rows(table);
  add_wmma_rows(table);
}

}  // namespace bitgate::machine
