#include <immintrin.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/numeric/tensor_core.h"
#include "reference/support/error.h"

// mma, ldmatrix, movmatrix (PTX ISA 9.7.14). In all fragments, lane = 4·group + t: a register's 32
// lanes are 8 rows (group) of 4 elements of 32 bits (t), in order.

namespace bitgate::machine {

namespace {

using U32 = std::uint32_t;
constexpr U32 kRows = 8;
constexpr U32 kRowWords = 4;  // 8 elements of 16 bits

/// Rows of a fragment register, as 4-word rows of a matrix with `stride` words a row.
void place_rows(const U32* fragment, U32* matrix, std::size_t stride) {
  for (std::size_t row = 0; row < kRows; ++row) {
    std::memcpy(matrix + row * stride, fragment + row * kRowWords, kRowWords * sizeof(U32));
  }
}

/// Registers of m16n8 accumulators: c0, c1 are columns 2t and 2t+1 of row `group`, c2 and c3 of row
/// `group` + 8.
void read_accumulators(const Context& x, const U32* registers, float* matrix) {
  for (std::size_t half = 0; half < 2; ++half) {
    const U32* even = x.lanes32(registers[2 * half]);
    const U32* odd = x.lanes32(registers[2 * half + 1]);
    auto* out = reinterpret_cast<__m128i*>(matrix + half * 64);
    for (std::size_t row = 0; row < kRows; ++row) {
      const __m128i a = _mm_load_si128(reinterpret_cast<const __m128i*>(even) + row);
      const __m128i b = _mm_load_si128(reinterpret_cast<const __m128i*>(odd) + row);
      _mm_store_si128(out + 2 * row, _mm_unpacklo_epi32(a, b));
      _mm_store_si128(out + 2 * row + 1, _mm_unpackhi_epi32(a, b));
    }
  }
}

void write_accumulators(const Context& x, const U32* registers, const float* matrix) {
  for (std::size_t half = 0; half < 2; ++half) {
    U32* even = x.lanes32(registers[2 * half]);
    U32* odd = x.lanes32(registers[2 * half + 1]);
    const float* in = matrix + half * 64;
    for (std::size_t row = 0; row < kRows; ++row) {
      const __m128 a = _mm_load_ps(in + 8 * row);
      const __m128 b = _mm_load_ps(in + 8 * row + 4);
      _mm_store_ps(reinterpret_cast<float*>(even) + 4 * row,
                   _mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
      _mm_store_ps(reinterpret_cast<float*>(odd) + 4 * row,
                   _mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    }
  }
}

/// List: 4 of d, then A's, B's, 4 of c. With k = 8 the upper half of k holds zeros, whose products
/// have the smallest exponent and add nothing.
template <numeric::ScalarType Type, int K>
void mma_f32(Context& x, const Op& op) {
  constexpr std::size_t kHalves = K / 8;
  const U32* list = x.state->code->lists.data() + op.list;
  alignas(32) U32 a[16][8] = {};
  alignas(32) U32 b[8][8] = {};
  alignas(32) float c[16 * 8];
  const U32* next = list + 4;
  for (std::size_t k = 0; k < kHalves; ++k) {
    for (std::size_t m = 0; m < 2; ++m) {
      place_rows(x.lanes32(*next++), &a[8 * m][4 * k], 8);
    }
  }
  for (std::size_t k = 0; k < kHalves; ++k) place_rows(x.lanes32(*next++), &b[0][4 * k], 8);
  read_accumulators(x, next, c);
  numeric::tensor_core_m16n8k16(*x.state->tensor_model, Type,
                                reinterpret_cast<const std::uint16_t*>(a),
                                reinterpret_cast<const std::uint16_t*>(b), c, c);
  write_accumulators(x, list, c);
  ++x.state->tensor_instructions;
}

void list_vector(InstructionBuilder& builder, std::size_t operand, std::size_t count, bool defines,
                 Immediates immediates = Immediates::integer) {
  const ptx::Operand& vector = builder.operand(operand);
  std::vector<ptx::Operand> single{vector};
  const auto& elements = vector.kind == ptx::Operand::Kind::vector ? vector.elements : single;
  if (elements.size() != count) throw Unsupported("a fragment of another size");
  for (const ptx::Operand& element : elements) {
    if (defines) {
      builder.list_define(element, Kind::b32);
    } else {
      builder.list_use(element, Kind::b32, immediates);
    }
  }
}

template <numeric::ScalarType Type, int K>
void decode_mma_f32(InstructionBuilder& builder) {
  constexpr std::size_t kHalves = K / 8;
  builder.begin_list();
  list_vector(builder, 0, 4, true);
  list_vector(builder, 1, 2 * kHalves, false);
  list_vector(builder, 2, kHalves, false);
  list_vector(builder, 3, 4, false, Immediates::f32);
  builder.use_constant(&Op::a, Kind::b32, kAllLanes);
  builder.op.flow = Flow::converge;
  builder.op.full = &mma_f32<Type, K>;
}

/// List: destinations. b: address.
template <U32 Matrices, bool Transposed>
void load_matrices(Context& x, const Op& op) {
  // Lane 8·i + r holds the address of row r of matrix i.
  constexpr U32 kAddresses = Matrices * kRows;
  HostAddresses host;
  x.activate(kAddresses == 32 ? kAllLanes : (1U << (kAddresses % 32)) - 1);
  locate_shared(x, op.b, (op.extra & kBaseIs32Bits) != 0, op.immediate, 16, Access::read, host);
  x.activate(kAllLanes);
  const U32* list = x.state->code->lists.data() + op.list;
  for (U32 i = 0; i < Matrices; ++i) {
    U32* d = x.lanes32(list[i]);
    if constexpr (!Transposed) {
      for (std::size_t row = 0; row < kRows; ++row) {
        std::memcpy(d + row * kRowWords, host[i * kRows + row], 16);
      }
    } else {
      std::uint16_t matrix[kRows][8];
      for (std::size_t row = 0; row < kRows; ++row) {
        std::memcpy(matrix[row], host[i * kRows + row], 16);
      }
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::size_t column = lane / 4;
        const std::size_t row = lane % 4 * 2;
        d[lane] = static_cast<U32>(matrix[row + 1][column]) << 16 | matrix[row][column];
      }
    }
  }
}

void decode_ldmatrix(InstructionBuilder& builder) {
  // ldmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 r, [p]
  if (!builder.has("m8n8") || !builder.has("b16")) throw Unsupported("ldmatrix of another shape");
  const bool trans = builder.has("trans");
  const std::size_t count = builder.has("x4") ? 4 : builder.has("x2") ? 2 : 1;
  if (!builder.has("shared") && !builder.has("shared::cta")) {
    throw Unsupported("ldmatrix with a generic address");
  }
  builder.begin_list();
  list_vector(builder, 0, count, true);
  const auto address = builder.address(&Op::b, builder.operand(1));
  if (address.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  builder.use_constant(&Op::a, Kind::b32, kAllLanes);
  builder.op.flow = Flow::converge;
  switch (count) {
    case 1:
      builder.op.full = trans ? &load_matrices<1, true> : &load_matrices<1, false>;
      break;
    case 2:
      builder.op.full = trans ? &load_matrices<2, true> : &load_matrices<2, false>;
      break;
    default:
      builder.op.full = trans ? &load_matrices<4, true> : &load_matrices<4, false>;
      break;
  }
}

void transpose_matrix(Context& x, const Op& op) {
  const U32* a = x.lanes32(op.b);
  U32* d = x.lanes32(op.d);
  std::uint16_t matrix[kRows][8];
  std::memcpy(matrix, a, sizeof(matrix));
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t column = lane / 4;
    const std::size_t row = lane % 4 * 2;
    d[lane] = static_cast<U32>(matrix[row + 1][column]) << 16 | matrix[row][column];
  }
}

void decode_movmatrix(InstructionBuilder& builder) {
  builder.define(&Op::d, builder.operand(0), Kind::b32);
  builder.use(&Op::b, builder.operand(1), Kind::b32);
  builder.use_constant(&Op::a, Kind::b32, kAllLanes);
  builder.op.flow = Flow::converge;
  builder.op.full = &transpose_matrix;
}

}  // namespace

void add_matrix_rows(DecodeTable& table) {
  using numeric::ScalarType;
  table.decoder("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                &decode_mma_f32<ScalarType::f16, 16>);
  table.decoder("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                &decode_mma_f32<ScalarType::bf16, 16>);
  table.decoder("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
                &decode_mma_f32<ScalarType::f16, 8>);
  table.unsupported("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",
                    "its rounding was not measured");
  table.unsupported("mma",
                    "only m16n8k16 of f16 and bf16, and m16n8k8 of f16, with f32 "
                    "accumulators are implemented");
  table.decoder("ldmatrix", &decode_ldmatrix);
  table.unsupported("stmatrix", "instructions of sm_90 and later are not implemented");
  table.decoder("movmatrix.sync.aligned.m8n8.trans.b16", &decode_movmatrix);
}

}  // namespace bitgate::machine
