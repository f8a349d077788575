#include <cstdint>
#include <cstring>

#include "reference/machine/exec/matrix.h"
#include "reference/machine/exec/matrix_fragments.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/hazard/hazards.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/support/error.h"

// ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14.5.15 to .17): 8×8 matrices of 16-bit elements. In a
// register, lane = 4·row + column / 2; transposed, lane = 4·column + row / 2.

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;
using Matrix = std::uint16_t[8][8];
constexpr U32 kRowBytes = 16;

void transpose(const Matrix& in, Matrix& out) {
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t column = 0; column < 8; ++column) out[column][row] = in[row][column];
  }
}

/// How the rows' addresses are given: lane 8·i + r has that of row r of matrix i.
enum class Rows : std::uint8_t { shared, generic };

/// b: address.
template <Rows Given>
void locate_rows(Context& x, const Op& op, U32 matrices, Access access, HostAddresses& host) {
  const U32 count = matrices * 8;
  x.activate(count == 32 ? kAllLanes : (1U << count) - 1);
  const bool narrow = (op.extra & kBaseIs32Bits) != 0;
  if constexpr (Given == Rows::shared) {
    locate_shared(x, op.b, narrow, op.immediate, kRowBytes, access, host);
  } else {
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::uint64_t base = narrow ? x.lanes32(op.b)[lane] : x.lanes64(op.b)[lane];
      const std::uint64_t address = base + static_cast<std::uint64_t>(op.immediate);
      host.at[lane] = reinterpret_cast<std::uint64_t>(
          locate_lane(x, lane, address, kRowBytes, kRowBytes, access));
    }
  }
  x.activate(kAllLanes);
  if (x.state->hazards == nullptr) return;
  const std::byte* const shared = x.block->shared.data();
  const bool in_shared = host[0] >= shared && host[0] < shared + x.block->shared_bytes;
  x.state->hazards->access(
      x, op,
      {in_shared ? Space::shared : Space::global, access,
       count == 32 ? kAllLanes : (1U << count) - 1, kRowBytes, true, nullptr, &host});
}

/// List: destinations.
template <U32 Matrices, bool Transposed, Rows Given>
void load_matrices(Context& x, const Op& op) {
  HostAddresses host;
  locate_rows<Given>(x, op, Matrices, Access::read, host);
  const U32* list = x.state->code->lists.data() + op.list;
  for (U32 i = 0; i < Matrices; ++i) {
    U32* d = x.lanes32(list[i]);
    if constexpr (!Transposed) {
      for (std::size_t row = 0; row < 8; ++row) {
        std::memcpy(d + row * 4, host[i * 8 + row], kRowBytes);
      }
    } else {
      Matrix matrix;
      Matrix turned;
      for (std::size_t row = 0; row < 8; ++row) {
        std::memcpy(matrix[row], host[i * 8 + row], kRowBytes);
      }
      transpose(matrix, turned);
      std::memcpy(d, turned, sizeof(turned));
    }
  }
}

/// List: sources.
template <U32 Matrices, bool Transposed, Rows Given>
void store_matrices(Context& x, const Op& op) {
  HostAddresses host;
  locate_rows<Given>(x, op, Matrices, Access::write, host);
  const U32* list = x.state->code->lists.data() + op.list;
  for (U32 i = 0; i < Matrices; ++i) {
    Matrix matrix;
    std::memcpy(matrix, x.lanes32(list[i]), sizeof(matrix));
    if constexpr (Transposed) {
      Matrix turned;
      transpose(matrix, turned);
      std::memcpy(matrix, turned, sizeof(matrix));
    }
    for (std::size_t row = 0; row < 8; ++row) {
      std::memcpy(host[i * 8 + row], matrix[row], kRowBytes);
    }
  }
}

template <U32 Matrices, Rows Given>
Handler move_of(bool loads, bool transposed) {
  if (loads) {
    return transposed ? &load_matrices<Matrices, true, Given>
                      : &load_matrices<Matrices, false, Given>;
  }
  return transposed ? &store_matrices<Matrices, true, Given>
                    : &store_matrices<Matrices, false, Given>;
}

/// {ld,st}matrix.sync.aligned.m8n8.num{.trans}{.shared{::cta}}.b16; ldmatrix: r, [p]; stmatrix:
/// [p], r
void decode_move(InstructionBuilder& builder) {
  const bool loads = builder.text.opcode == "ldmatrix";
  if (!builder.has("m8n8") || !builder.has("b16")) {
    throw Unsupported("its shape or type is of sm_100 and later, or unknown");
  }
  const std::size_t count = builder.has("x4") ? 4 : builder.has("x2") ? 2 : 1;
  const auto address = builder.address(&Op::b, builder.operand(loads ? 1 : 0));
  if (address.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  builder.begin_list();
  list_fragment(builder, loads ? 0 : 1, count, loads);
  const bool transposed = builder.has("trans");
  const bool shared =
      builder.has("shared") || builder.has("shared::cta") || address.symbol_space == Space::shared;
  Handler handler = nullptr;
  switch (count) {
    case 1:
      handler = shared ? move_of<1, Rows::shared>(loads, transposed)
                       : move_of<1, Rows::generic>(loads, transposed);
      break;
    case 2:
      handler = shared ? move_of<2, Rows::shared>(loads, transposed)
                       : move_of<2, Rows::generic>(loads, transposed);
      break;
    default:
      handler = shared ? move_of<4, Rows::shared>(loads, transposed)
                       : move_of<4, Rows::generic>(loads, transposed);
      break;
  }
  whole_warp(builder, handler);
}

void transpose_matrix(Context& x, const Op& op) {
  Matrix matrix;
  Matrix turned;
  std::memcpy(matrix, x.lanes32(op.b), sizeof(matrix));
  transpose(matrix, turned);
  std::memcpy(x.lanes32(op.d), turned, sizeof(turned));
}

void decode_movmatrix(InstructionBuilder& builder) {
  builder.define(&Op::d, builder.operand(0), Kind::b32);
  builder.use(&Op::b, builder.operand(1), Kind::b32);
  whole_warp(builder, &transpose_matrix);
}

}  // namespace

void add_matrix_move_rows(DecodeTable& table) {
  table.decoder("ldmatrix", &decode_move);
  table.forms("ldmatrix",
              {"ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{,.trans}{,.shared,.shared::cta}.b16"});
  table.decoder("stmatrix", &decode_move);
  table.forms("stmatrix",
              {"stmatrix.sync.aligned.m8n8.{x1,x2,x4}{,.trans}{,.shared,.shared::cta}.b16"});
  table.decoder("movmatrix.sync.aligned.m8n8.trans.b16", &decode_movmatrix);
  constexpr std::string_view kNewer = "8-bit and narrower elements are of sm_100 and later";
  table.unsupported("ldmatrix.sync.aligned.m16n16.{x1,x2}.trans{,.shared,.shared::cta}.b8", kNewer);
  table.unsupported("stmatrix.sync.aligned.m16n8.{x1,x2,x4}.trans{,.shared,.shared::cta}.b8",
                    kNewer);
}

}  // namespace bitgate::machine
