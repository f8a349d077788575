#include <array>
#include <cstdint>
#include <cstring>

#include "reference/machine/exec/matrix.h"
#include "reference/machine/exec/matrix_fragments.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// mma.sp: A holds half of k, the metadata say which half (PTX ISA 9.7.14.6).
//
// Of every four units of a row, units being 16 bits or, of integers, 8 bits, two are kept; four
// bits of metadata are their positions, the first in the low two. tf32 keeps one of two elements,
// which is two of four units. Where the metadata are, by thread t of a group of four:
//   units of 16 bits: bits 0-15 are row `group`, bits 16-31 row `group` + 8, of 16 units of k each;
//     one thread (t = selector), or with twice the k two (t = 2·selector + half of k).
//   units of 8 bits: 32 bits are 32 units of one row, t even: row `group`, odd: `group` + 8; two
//     threads (t = 2·selector + …), or with twice the k four (t = 2·half of k + …, selector 0).
// The figures of the ISA say so, and an H200 gives the same on random metadata.

namespace bitgate::machine {

namespace {

using numeric::TensorType;
using numeric::TileRow;
using U32 = std::uint32_t;

constexpr std::size_t kRows = 16;
constexpr std::size_t kRowWordsOfB = 16;
constexpr std::size_t kUnitsAChunk = 4;

struct SparseForm {
  TensorType a{};
  TensorType b{};
  TensorType accumulator{};
  std::uint8_t blocks = 0;  ///< of 16 bytes of k of A; B has twice as many
  bool saturate = false;
  std::uint8_t selector = 0;
  std::uint8_t unit_bytes = 0;
  std::uint8_t unused = 0;
};
static_assert(sizeof(SparseForm) == 8);

/// The position, in its chunk of four, of each kept unit of row m.
class Metadata {
 public:
  Metadata(const SparseForm& form, const U32* lanes) : form_(form), lanes_(lanes) {}

  std::size_t source(std::size_t m, std::size_t unit) const {
    const std::size_t chunk = unit / 2;
    const std::size_t group = m % 8;
    std::size_t lane = 4 * group;
    std::size_t nibble = 0;
    if (form_.unit_bytes == 2) {
      // 4 chunks a row and thread.
      lane += form_.blocks == 1 ? form_.selector : 2U * form_.selector + chunk / 4;
      nibble = m / 8 * 4 + chunk % 4;
    } else {
      // 8 chunks a thread, of one row.
      lane += (form_.blocks == 1 ? 2U * form_.selector : chunk / 8 * 2) + m / 8;
      nibble = chunk % 8;
    }
    const U32 position = lanes_[lane] >> (4 * nibble + 2 * (unit % 2)) & 3U;
    return kUnitsAChunk * chunk + position;
  }

 private:
  const SparseForm& form_;
  const U32* lanes_;
};

/// B's units that meet those of one row of A.
template <class Unit>
void gather(const Metadata& metadata, std::size_t m, std::size_t units,
            const U32 (&b)[kFragmentColumns][kRowWordsOfB],
            std::array<TileRow, kFragmentColumns>& selected) {
  for (std::size_t unit = 0; unit < units; ++unit) {
    const std::size_t source = metadata.source(m, unit);
    for (std::size_t n = 0; n < kFragmentColumns; ++n) {
      std::memcpy(reinterpret_cast<std::byte*>(selected[n].words.data()) + unit * sizeof(Unit),
                  reinterpret_cast<const std::byte*>(b[n]) + source * sizeof(Unit), sizeof(Unit));
    }
  }
}

/// List: the form, then d, A, B, c, metadata.
template <class Accumulator, class Tile>
void sparse_mma(Context& x, const Op& op, Tile&& tile) {
  constexpr bool kHalf = sizeof(Accumulator) == 2;
  constexpr std::size_t kAccumulators = kHalf ? 2 : 4;
  const U32* list = x.state->code->lists.data() + op.list;
  const auto form = read_form<SparseForm>(list);
  require_type(x, form.a);
  const U32* d = list + kFormWords<SparseForm>;
  const U32* a = d + kAccumulators;
  const U32* b = a + 2 * form.blocks;
  const U32* c = b + 2 * form.blocks;
  const Metadata metadata(form, x.lanes32(c[kAccumulators]));

  std::array<TileRow, kRows> rows{};
  read_rows(x, a, 2, form.blocks, rows);
  alignas(32) U32 columns[kFragmentColumns][kRowWordsOfB] = {};
  read_rows<kRowWordsOfB>(x, b, 1, 2U * form.blocks, columns[0]);
  alignas(32) Accumulator sums[kRows * kFragmentColumns];
  if constexpr (kHalf) {
    read_half_accumulators(x, c, 2, sums);
  } else {
    read_accumulators(x, c, 2, sums);
  }
  const std::size_t units = form.blocks * std::size_t{16} / form.unit_bytes;
  std::array<TileRow, kFragmentColumns> selected{};
  for (std::size_t m = 0; m < kRows; ++m) {
    if (form.unit_bytes == 2) {
      gather<std::uint16_t>(metadata, m, units, columns, selected);
    } else {
      gather<std::uint8_t>(metadata, m, units, columns, selected);
    }
    Accumulator* row = sums + m * kFragmentColumns;
    tile(form, std::span<const TileRow>(&rows[m], 1), numeric::TileRowsB(selected), row);
  }
  if constexpr (kHalf) {
    write_half_accumulators(x, d, 2, sums);
  } else {
    write_accumulators(x, d, 2, sums);
  }
  ++x.state->tensor_instructions;
}

void sparse_f32(Context& x, const Op& op) {
  sparse_mma<float>(
      x, op, [&](const SparseForm& form, numeric::TileRowsA a, numeric::TileRowsB b, float* c) {
        numeric::tensor_tile(*x.state->tensor_model, form.a, form.b, a, b, c, c);
      });
}

void sparse_f16(Context& x, const Op& op) {
  sparse_mma<std::uint16_t>(
      x, op,
      [&](const SparseForm& form, numeric::TileRowsA a, numeric::TileRowsB b, std::uint16_t* c) {
        numeric::tensor_tile_f16(*x.state->tensor_model, form.a, form.b, a, b, c, c);
      });
}

void sparse_s32(Context& x, const Op& op) {
  sparse_mma<std::int32_t>(
      x, op,
      [](const SparseForm& form, numeric::TileRowsA a, numeric::TileRowsB b, std::int32_t* c) {
        numeric::integer_tile(form.a, form.b, a, b, form.saturate, c, c);
      });
}

/// mma.sp{::ordered_metadata}.sync.aligned.SHAPE.row.col{.satfinite}.D.A.B.C d, a, b, c, e, f
void decode_sparse_mma(InstructionBuilder& builder) {
  SparseForm form;
  form.saturate = builder.has("satfinite");
  const std::vector<TensorType> types = tensor_types(builder);  // of d, a, b, c
  form.accumulator = types.at(0);
  form.a = types.at(1);
  form.b = types.at(2);
  const unsigned bits = static_cast<unsigned>(layout(form.a).bits);
  const std::string& shape = builder.modifier(3);
  const auto k = static_cast<unsigned>(std::stoul(shape.substr(shape.find('k') + 1)));
  form.blocks = static_cast<std::uint8_t>(k / 2 * bits / 128);
  form.unit_bytes = bits >= 16 ? 2 : 1;
  const ptx::Operand& selector = builder.operand(5);
  const std::uint64_t largest =
      form.unit_bytes == 2 ? (form.blocks == 1 ? 3 : 1) : (form.blocks == 1 ? 1 : 0);
  if (selector.kind != ptx::Operand::Kind::immediate || selector.immediate.bits > largest) {
    throw Unsupported("its sparsity selector is out of range");
  }
  form.selector = static_cast<std::uint8_t>(selector.immediate.bits);

  const bool half = form.accumulator == TensorType::f16;
  const std::size_t accumulators = half ? 2 : 4;
  const Immediates immediates =
      form.accumulator == TensorType::f32 ? Immediates::f32 : Immediates::integer;
  builder.begin_list();
  list_form(builder, form);
  list_fragment(builder, 0, accumulators, true);
  list_fragment(builder, 1, std::size_t{2} * form.blocks, false, Kind::b32, immediates);
  list_fragment(builder, 2, std::size_t{2} * form.blocks, false, Kind::b32, immediates);
  list_fragment(builder, 3, accumulators, false, Kind::b32, immediates);
  builder.list_use(builder.operand(4), Kind::b32);
  whole_warp(builder, half                                  ? &sparse_f16
                      : form.accumulator == TensorType::f32 ? &sparse_f32
                                                            : &sparse_s32);
}

}  // namespace

void add_sparse_mma_rows(DecodeTable& table) {
  for (const char* forms :
       {"mma.{sp,sp::ordered_metadata}.sync.aligned.{m16n8k16,m16n8k32}.row.col.f32.{f16.f16,bf16."
        "bf16}.f32",
        "mma.{sp,sp::ordered_metadata}.sync.aligned.{m16n8k16,m16n8k32}.row.col.f16.f16.f16.f16",
        "mma.{sp,sp::ordered_metadata}.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.tf32.tf32.f32",
        "mma.{sp,sp::ordered_metadata}.sync.aligned.m16n8k64.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}."
        "f32",
        "mma.{sp,sp::ordered_metadata}.sync.aligned.{m16n8k32,m16n8k64}.row.col{,.satfinite}.s32."
        "{s8,u8}.{s8,u8}.s32",
        "mma.{sp,sp::ordered_metadata}.sync.aligned.{m16n8k64,m16n8k128}.row.col{,.satfinite}.s32."
        "{s4,u4}.{s4,u4}.s32"}) {
    for (const std::string& mnemonic : expand_braces(forms)) {
      table.decoder(mnemonic, &decode_sparse_mma);
    }
  }
}

}  // namespace bitgate::machine
