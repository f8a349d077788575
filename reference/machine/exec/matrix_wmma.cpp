#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "reference/machine/exec/matrix.h"
#include "reference/machine/exec/matrix_fragments.h"
#include "reference/machine/exec/memory.h"
#include "reference/machine/exec/rounding.h"
#include "reference/machine/hazard/hazards.h"
#include "reference/machine/memory/address_space.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/numeric/half.h"
#include "reference/support/error.h"

// wmma.load, wmma.store, wmma.mma (PTX ISA 9.7.14.4).
//
// PTX leaves the fragments' layout open. Here it is the one that ptxas 13.0 compiles for sm_80 to
// sm_90, where wmma is made of mma: A and B are fragments of mma of m16n8 tiles, one after the
// other (m16n16: the two halves of n; m32n8: those of m); m8n32 is the transposed product, Bᵀ in
// the place of A. Registers beyond those of f16 fragments hold copies. What a program does to all
// elements of a fragment alike is the same in every layout.
//
// As compiled, tf32 k8 is two mma of k4 in the order of k, and an f16 result from an f32
// accumulator is that sum in f32, rounded to nearest even.

namespace bitgate::machine {

namespace {

using numeric::BitProduct;
using numeric::TensorType;
using numeric::TileRow;
using U32 = std::uint32_t;

constexpr std::size_t kMostSide = 32;  // rows of A and columns of B, n of m8n32 and m of m32n8
constexpr std::size_t kHalfRegisters = 8;

enum class Role : std::uint8_t { a, b, accumulator };

struct WmmaForm {
  std::uint8_t m = 0;
  std::uint8_t n = 0;
  std::uint8_t k_bytes = 0;  ///< of a row of A
  Role role{};               ///< of load and store
  TensorType a{};            ///< of load and store: the element type
  TensorType b{};
  TensorType c{};
  TensorType d{};
  bool column_major = false;
  std::uint8_t space = 0;
  bool saturate = false;
  BitProduct product{};
  Rounding rounding{};
  std::array<std::uint8_t, 3> unused{};

  bool turned() const { return m == 8 && n == 32; }
  /// Sides of the product as mma sees it: of m16 (or m8) tiles, and of n8 tiles.
  std::size_t left() const { return turned() ? n : m; }
  std::size_t right() const { return turned() ? m : n; }
  std::size_t side(Role of) const { return of == Role::a ? m : n; }
  bool is_left(Role of) const { return (of == Role::a) != turned(); }
  std::size_t blocks() const { return (k_bytes + 15U) / 16U; }
  std::size_t tile_rows() const { return left() < 16 ? 8 : 16; }
};
static_assert(sizeof(WmmaForm) == 16);

std::size_t bits_of(TensorType type) { return static_cast<std::size_t>(layout(type).bits); }

/// Registers that hold something of A or B.
std::size_t used_registers(const WmmaForm& form, Role role) {
  return form.side(role) / 8 * form.blocks();
}
std::size_t registers_of(const WmmaForm& form, Role role, TensorType type) {
  if (role == Role::accumulator) {
    return form.left() * form.right() / kLanes / (type == TensorType::f16 ? 2 : 1);
  }
  if (type == TensorType::f64) return 1;
  return type == TensorType::f16 ? kHalfRegisters : used_registers(form, role);
}

/// Rows of A or columns of B, k packed in each.
using Side = std::array<TileRow, kMostSide>;

/// Groups of eight rows that lie side by side in a fragment's registers: of the left side two.
std::size_t groups_together(const WmmaForm& form, Role role) {
  return form.is_left(role) && form.left() >= 16 ? 2 : 1;
}

Side read_side(const Context& x, const WmmaForm& form, Role role, const U32* registers) {
  Side side{};
  const std::size_t together = groups_together(form, role);
  for (std::size_t row = 0; row < form.side(role); row += 8 * together) {
    read_rows(x, registers, together, form.blocks(), std::span(side).subspan(row));
    registers += together * form.blocks();
  }
  return side;
}

void write_side(const Context& x, const WmmaForm& form, Role role, const Side& side,
                const U32* registers, std::size_t count) {
  const std::size_t together = groups_together(form, role);
  const U32* next = registers;
  for (std::size_t row = 0; row < form.side(role); row += 8 * together) {
    write_rows(x, next, together, form.blocks(), std::span(side).subspan(row));
    next += together * form.blocks();
  }
  const std::size_t used = used_registers(form, role);
  for (std::size_t i = used; i < count; ++i) {
    std::memcpy(x.lanes32(registers[i]), x.lanes32(registers[i % used]), kLanes * sizeof(U32));
  }
}

/// Accumulators as [left][right], 32 bits each; f16 zero-extended.
using Sums = std::array<std::array<U32, kMostSide>, kMostSide>;

/// Calls visit(row, column, registers) for each tile of accumulators; a tile has tile_rows() × 8.
template <class Visit>
void each_tile(const WmmaForm& form, TensorType type, const U32* registers, Visit&& visit) {
  const std::size_t groups = form.tile_rows() / 8;
  for (std::size_t row = 0; row < form.left(); row += form.tile_rows()) {
    for (std::size_t column = 0; column < form.right(); column += 8) {
      visit(row, column, registers);
      registers += groups * (type == TensorType::f16 ? 1 : 2);
    }
  }
}

Sums read_sums(const Context& x, const WmmaForm& form, TensorType type, const U32* registers) {
  Sums sums{};
  const std::size_t groups = form.tile_rows() / 8;
  each_tile(form, type, registers, [&](std::size_t row, std::size_t column, const U32* tile) {
    alignas(32) std::uint16_t halves[16 * 8];
    alignas(32) U32 words[16 * 8];
    if (type == TensorType::f16) {
      read_half_accumulators(x, tile, groups, halves);
    } else {
      read_accumulators(x, tile, groups, words);
    }
    for (std::size_t i = 0; i < form.tile_rows() * 8; ++i) {
      sums[row + i / 8][column + i % 8] = type == TensorType::f16 ? halves[i] : words[i];
    }
  });
  return sums;
}

void write_sums(const Context& x, const WmmaForm& form, TensorType type, const Sums& sums,
                const U32* registers) {
  const std::size_t groups = form.tile_rows() / 8;
  each_tile(form, type, registers, [&](std::size_t row, std::size_t column, const U32* tile) {
    alignas(32) std::uint16_t halves[16 * 8];
    alignas(32) U32 words[16 * 8];
    for (std::size_t i = 0; i < form.tile_rows() * 8; ++i) {
      words[i] = sums[row + i / 8][column + i % 8];
      halves[i] = static_cast<std::uint16_t>(words[i]);
    }
    if (type == TensorType::f16) {
      write_half_accumulators(x, tile, groups, halves);
    } else {
      write_accumulators(x, tile, groups, words);
    }
  });
}

// Memory.

/// b: address, c: stride in elements. All lanes give the same ones: those of lane 0 count.
std::byte* locate_line(Context& x, const Op& op, const WmmaForm& form, std::size_t line,
                       std::size_t elements, TensorType type, Access access) {
  const bool narrow = (op.extra & kBaseIs32Bits) != 0;
  const std::uint64_t base = narrow ? x.lanes32(op.b)[0] : x.lanes64(op.b)[0];
  const std::uint64_t stride_bits = std::uint64_t{x.lanes32(op.c)[0]} * bits_of(type);
  const std::uint64_t address = base + static_cast<std::uint64_t>(op.immediate) +
                                window_of(static_cast<Space>(form.space)) + line * stride_bits / 8;
  const auto alignment = static_cast<std::uint32_t>(std::max<std::size_t>(bits_of(type) / 8, 1));
  const auto bytes = static_cast<std::uint32_t>(elements * bits_of(type) / 8);
  std::byte* const at = locate_lane(x, 0, address, bytes, alignment, access);
  if (x.state->hazards != nullptr) {
    HostAddresses host{};
    host.at[0] = reinterpret_cast<std::uint64_t>(at);
    x.state->hazards->access(x, op, {space_of(address), access, 1U, bytes, true, nullptr, &host});
  }
  return at;
}

/// A and B: rows of A, columns of B, each with k packed.
void load_side(Context& x, const Op& op) {
  const U32* list = x.state->code->lists.data() + op.list;
  const auto form = read_form<WmmaForm>(list);
  const TensorType type = form.a;
  const std::size_t k = form.k_bytes * std::size_t{8} / bits_of(type);
  const std::size_t rows = form.side(form.role);
  Side side{};
  if (form.column_major == (form.role == Role::b)) {  // k runs along the lines
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(side[row].words.data(), locate_line(x, op, form, row, k, type, Access::read),
                  form.k_bytes);
    }
  } else {
    const std::size_t bytes = bits_of(type) / 8;
    for (std::size_t i = 0; i < k; ++i) {
      const std::byte* line = locate_line(x, op, form, i, rows, type, Access::read);
      for (std::size_t row = 0; row < rows; ++row) {
        std::memcpy(reinterpret_cast<std::byte*>(side[row].words.data()) + i * bytes,
                    line + row * bytes, bytes);
      }
    }
  }
  write_side(x, form, form.role, side, list + kFormWords<WmmaForm>,
             registers_of(form, form.role, type));
}

/// Calls visit(line, element, left, right) for each accumulator in the order of memory.
template <class Visit>
void each_element(const WmmaForm& form, Visit&& visit) {
  const std::size_t lines = form.column_major ? form.n : form.m;
  const std::size_t elements = form.column_major ? form.m : form.n;
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t i = 0; i < elements; ++i) {
      const std::size_t m = form.column_major ? i : line;
      const std::size_t n = form.column_major ? line : i;
      visit(line, i, form.turned() ? n : m, form.turned() ? m : n);
    }
  }
}

/// Host addresses of the lines of an accumulator matrix.
std::array<std::byte*, kMostSide> locate_lines(Context& x, const Op& op, const WmmaForm& form,
                                               Access access) {
  std::array<std::byte*, kMostSide> lines{};
  const std::size_t count = form.column_major ? form.n : form.m;
  const std::size_t elements = form.column_major ? form.m : form.n;
  for (std::size_t i = 0; i < count; ++i) {
    lines[i] = locate_line(x, op, form, i, elements, form.a, access);
  }
  return lines;
}

void load_sums(Context& x, const Op& op) {
  const U32* list = x.state->code->lists.data() + op.list;
  const auto form = read_form<WmmaForm>(list);
  const std::size_t bytes = bits_of(form.a) / 8;
  const auto lines = locate_lines(x, op, form, Access::read);
  Sums sums{};
  each_element(form, [&](std::size_t line, std::size_t i, std::size_t left, std::size_t right) {
    std::memcpy(&sums[left][right], lines[line] + i * bytes, bytes);
  });
  write_sums(x, form, form.a, sums, list + kFormWords<WmmaForm>);
}

void store_sums(Context& x, const Op& op) {
  const U32* list = x.state->code->lists.data() + op.list;
  const auto form = read_form<WmmaForm>(list);
  const std::size_t bytes = bits_of(form.a) / 8;
  const auto lines = locate_lines(x, op, form, Access::write);
  const Sums sums = read_sums(x, form, form.a, list + kFormWords<WmmaForm>);
  each_element(form, [&](std::size_t line, std::size_t i, std::size_t left, std::size_t right) {
    std::memcpy(lines[line] + i * bytes, &sums[left][right], bytes);
  });
}

// f64 is m8n8k4 alone: a lane holds A's row lane / 4, k = lane % 4, B's column lane / 4, and the
// accumulators of row lane / 4, columns 2·(lane % 4) and the next.

void move_doubles(Context& x, const Op& op, Access access) {
  const U32* list = x.state->code->lists.data() + op.list;
  const auto form = read_form<WmmaForm>(list);
  const U32* registers = list + kFormWords<WmmaForm>;
  const bool sums = form.role == Role::accumulator;
  const std::size_t across = sums ? 8 : 4;
  const bool along_rows = sums ? !form.column_major : form.column_major == (form.role == Role::b);
  std::array<std::byte*, 8> lines{};
  for (std::size_t i = 0; i < (along_rows ? 8 : across); ++i) {
    lines[i] = locate_line(x, op, form, i, along_rows ? across : 8, TensorType::f64, access);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < across / 4; ++i) {
      const std::size_t row = lane / 4;
      const std::size_t column = sums ? 2 * (lane % 4) + i : lane % 4;
      std::byte* memory = along_rows ? lines[row] + column * 8 : lines[column] + row * 8;
      std::uint64_t* value = &x.lanes64(registers[i])[lane];
      if (access == Access::read) {
        std::memcpy(value, memory, 8);
      } else {
        std::memcpy(memory, value, 8);
      }
    }
  }
}

void load_doubles(Context& x, const Op& op) { move_doubles(x, op, Access::read); }
void store_doubles(Context& x, const Op& op) { move_doubles(x, op, Access::write); }

// Products.

/// List: the form, then d, A, B, c.
struct Product {
  WmmaForm form;
  const U32* d;
  const U32* a;
  const U32* b;
  const U32* c;

  Product(const Context& x, const Op& op) {
    const U32* list = x.state->code->lists.data() + op.list;
    form = read_form<WmmaForm>(list);
    d = list + kFormWords<WmmaForm>;
    a = d + registers_of(form, Role::accumulator, form.d);
    b = a + registers_of(form, Role::a, form.a);
    c = b + registers_of(form, Role::b, form.b);
    ++x.state->tensor_instructions;
  }
};

constexpr U32 kHalfNan = 0x7fff;

U32 f32_of_half(U32 half) {
  return std::bit_cast<U32>(numeric::to_float(numeric::Half{static_cast<std::uint16_t>(half)}));
}

U32 half_of_f32(U32 bits) {
  const auto value = std::bit_cast<float>(bits);
  return std::isnan(value) ? kHalfNan : numeric::to_half(static_cast<double>(value)).bits;
}

/// One tile of left × 8, accumulators in the type they are summed in.
void multiply(const Context& x, const WmmaForm& form, numeric::TileRowsA a, numeric::TileRowsB b,
              bool in_f16, U32* sums) {
  const bool turned = form.turned();
  const TensorType a_type = turned ? form.b : form.a;
  const TensorType b_type = turned ? form.a : form.b;
  const std::size_t count = a.size() * 8;
  if (form.d == TensorType::s32) {
    auto* c = reinterpret_cast<std::int32_t*>(sums);
    if (form.a == TensorType::b1) {
      numeric::bit_tile(form.product, a, b, c, c);
    } else {
      numeric::integer_tile(a_type, b_type, a, b, form.saturate, c, c);
    }
  } else if (in_f16) {
    std::array<std::uint16_t, 16 * 8> c{};
    std::copy_n(sums, count, c.begin());
    numeric::tensor_tile_f16(*x.state->tensor_model, a_type, b_type, a, b, c.data(), c.data());
    std::copy_n(c.begin(), count, sums);
  } else {
    auto* c = reinterpret_cast<float*>(sums);
    numeric::tensor_tile(*x.state->tensor_model, a_type, b_type, a, b, c, c);
  }
}

/// k4 of tf32 k8: the first or the second four of each row.
void keep_half_of_k(std::span<TileRow> rows, std::size_t half) {
  for (TileRow& row : rows) {
    TileRow kept;
    std::copy_n(row.words.begin() + static_cast<std::ptrdiff_t>(4 * half), 4, kept.words.begin());
    row = kept;
  }
}

void multiply_matrices(Context& x, const Op& op) {
  const Product product(x, op);
  const WmmaForm& form = product.form;
  const Side a = read_side(x, form, Role::a, product.a);
  const Side b = read_side(x, form, Role::b, product.b);
  const Side& left = form.turned() ? b : a;
  const Side& right = form.turned() ? a : b;
  Sums sums = read_sums(x, form, form.c, product.c);
  const bool in_f16 = form.c == TensorType::f16 && form.d == TensorType::f16;
  for (std::size_t row = 0; row < form.left(); row += form.tile_rows()) {
    for (std::size_t column = 0; column < form.right(); column += 8) {
      alignas(32) U32 tile[16 * 8];
      for (std::size_t i = 0; i < form.tile_rows() * 8; ++i) {
        const U32 c = sums[row + i / 8][column + i % 8];
        tile[i] = form.c == TensorType::f16 && !in_f16 ? f32_of_half(c) : c;
      }
      std::array<TileRow, 16> rows{};
      std::array<TileRow, 8> columns{};
      const std::size_t steps = form.a == TensorType::tf32 ? 2 : 1;
      for (std::size_t step = 0; step < steps; ++step) {
        std::copy_n(left.begin() + static_cast<std::ptrdiff_t>(row), form.tile_rows(),
                    rows.begin());
        std::copy_n(right.begin() + static_cast<std::ptrdiff_t>(column), 8, columns.begin());
        if (steps == 2) {
          keep_half_of_k(rows, step);
          keep_half_of_k(columns, step);
        }
        multiply(x, form, std::span<const TileRow>(rows).first(form.tile_rows()), columns, in_f16,
                 tile);
      }
      for (std::size_t i = 0; i < form.tile_rows() * 8; ++i) {
        sums[row + i / 8][column + i % 8] =
            form.d == TensorType::f16 && !in_f16 ? half_of_f32(tile[i]) : tile[i];
      }
    }
  }
  write_sums(x, form, form.d, sums, product.d);
}

void multiply_doubles(Context& x, const Op& op) {
  const U32* list = x.state->code->lists.data() + op.list;
  const auto form = read_form<WmmaForm>(list);
  const U32* registers = list + kFormWords<WmmaForm>;  // two of d, A, B, two of c
  const auto lanes = [&](std::size_t i) {
    return reinterpret_cast<double*>(x.lanes64(registers[i]));
  };
  const double* a = lanes(2);
  const double* b = lanes(3);
  std::array<double, 64> d;
  const RoundingScope scope(form.rounding);
  for (std::size_t i = 0; i < d.size(); ++i) {
    const std::size_t m = i / 8;
    const std::size_t n = i % 8;
    double sum = lanes(4 + n % 2)[4 * m + n / 2];
    for (std::size_t k = 0; k < 4; ++k) sum = matrix_fma(a[4 * m + k], b[4 * n + k], sum);
    d[i] = sum;
  }
  for (std::size_t i = 0; i < d.size(); ++i) {
    lanes(i % 2)[i / 8 * 4 + i % 8 / 2] = d[i];
  }
  ++x.state->tensor_instructions;
}

// Text to one of the above.

struct Shape {
  const char* name;
  std::uint8_t m;
  std::uint8_t n;
  std::uint8_t k;
};
constexpr std::array kShapes{Shape{"m16n16k16", 16, 16, 16}, Shape{"m32n8k16", 32, 8, 16},
                             Shape{"m8n32k16", 8, 32, 16},   Shape{"m16n16k8", 16, 16, 8},
                             Shape{"m8n8k4", 8, 8, 4},       Shape{"m8n8k32", 8, 8, 32},
                             Shape{"m8n8k128", 8, 8, 128}};

void parse_shape(const InstructionBuilder& builder, TensorType operand, WmmaForm& form) {
  for (const Shape& shape : kShapes) {
    if (!builder.has(shape.name)) continue;
    form.m = shape.m;
    form.n = shape.n;
    form.k_bytes = static_cast<std::uint8_t>(shape.k * bits_of(operand) / 8);
    return;
  }
  throw Unsupported("its shape is unknown");
}

Kind register_kind_of(TensorType type) { return type == TensorType::f64 ? Kind::b64 : Kind::b32; }

Immediates immediates_of(TensorType type) {
  return type == TensorType::f64   ? Immediates::f64
         : type == TensorType::f32 ? Immediates::f32
                                   : Immediates::integer;
}

/// load.{a,b,c}.sync.aligned.layout.shape{.ss}.type r, [p]{, stride}
/// store.d.sync.aligned.layout.shape{.ss}.type [p], r{, stride}
void decode_move(InstructionBuilder& builder, bool loads) {
  const std::vector<TensorType> types = tensor_types(builder);
  if (types.size() != 1) throw Unsupported("one type was expected");
  WmmaForm form;
  form.a = types.front();
  form.role = builder.has("a") ? Role::a : builder.has("b") ? Role::b : Role::accumulator;
  form.column_major = builder.has("col");
  parse_shape(builder, form.a, form);
  // Sub-byte elements are packed along k.
  if (bits_of(form.a) < 8 && form.column_major != (form.role == Role::b)) {
    throw Unsupported("its layout is none of that type");
  }
  const auto address = builder.address(&Op::b, builder.operand(loads ? 1 : 0));
  if (address.base_is_32_bits) builder.op.extra |= kBaseIs32Bits;
  Space space = Space::generic;
  if (builder.has("shared") || builder.has("shared::cta")) space = Space::shared;
  if (address.symbol_space != Space::generic) space = address.symbol_space;
  form.space = static_cast<std::uint8_t>(space);

  builder.begin_list();
  list_form(builder, form);
  list_fragment(builder, loads ? 0 : 1, registers_of(form, form.role, form.a), loads,
                register_kind_of(form.a), immediates_of(form.a));
  if (builder.count() > 2) {
    builder.use(&Op::c, builder.operand(2), Kind::b32);
  } else {
    const std::size_t k = form.k_bytes * std::size_t{8} / bits_of(form.a);
    const std::size_t rows = form.role == Role::b ? k : form.m;
    const std::size_t columns = form.role == Role::a ? k : form.n;
    builder.use_constant(&Op::c, Kind::b32, form.column_major ? rows : columns);
  }
  if (form.a == TensorType::f64) {
    whole_warp(builder, loads ? &load_doubles : &store_doubles);
  } else if (!loads) {
    whole_warp(builder, &store_sums);
  } else {
    whole_warp(builder, form.role == Role::accumulator ? &load_sums : &load_side);
  }
}

/// mma.sync.aligned.alayout.blayout.shape{.rnd}.d{.a.b}.c{.satfinite}, mma.{xor,and}.popc.sync. …:
/// the layouts say how the fragments were loaded and make no difference to the registers.
void decode_product(InstructionBuilder& builder) {
  const std::vector<TensorType> types = tensor_types(builder);
  WmmaForm form;
  if (types.size() == 2) {
    form.a = form.b = TensorType::f16;
  } else if (types.size() == 4) {
    form.a = types[1];
    form.b = types[2];
  } else {
    throw Unsupported("two or four types were expected");
  }
  form.d = types.front();
  form.c = types.back();
  form.saturate = builder.has("satfinite");
  if (form.saturate && form.d != TensorType::s32) {
    throw Unsupported(".satfinite of floating point was removed from PTX");
  }
  if (builder.has("and")) form.product = BitProduct::bit_and;
  for (const Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp}) {
    if (builder.has(name(rounding))) form.rounding = rounding;
  }
  parse_shape(builder, form.a, form);
  if (form.k_bytes > sizeof(TileRow)) throw Unsupported("its shape is none of that type");
  builder.begin_list();
  list_form(builder, form);
  const auto list = [&](std::size_t operand, Role role, TensorType type) {
    list_fragment(builder, operand, registers_of(form, role, type), operand == 0,
                  register_kind_of(type), immediates_of(type));
  };
  list(0, Role::accumulator, form.d);
  list(1, Role::a, form.a);
  list(2, Role::b, form.b);
  list(3, Role::accumulator, form.c);
  whole_warp(builder, form.a == TensorType::f64 ? &multiply_doubles : &multiply_matrices);
}

void decode_wmma(InstructionBuilder& builder) {
  if (builder.has("load")) return decode_move(builder, true);
  if (builder.has("store")) return decode_move(builder, false);
  if (builder.has("mma")) return decode_product(builder);
  throw Unsupported("it is neither load, store nor mma");
}

}  // namespace

void add_wmma_rows(DecodeTable& table) {
  table.decoder("wmma", &decode_wmma);
  table.forms(
      "wmma",
      {"wmma.load.{a,b}.sync.aligned.{row,col}.{m16n16k16,m32n8k16,m8n32k16}"
       "{,.global,.shared,.shared::cta}.{f16,bf16,s8,u8}",
       "wmma.load.c.sync.aligned.{row,col}.{m16n16k16,m32n8k16,m8n32k16}"
       "{,.global,.shared,.shared::cta}.{f16,f32,s32}",
       "wmma.load.{a,b}.sync.aligned.{row,col}.m16n16k8{,.global,.shared,.shared::cta}.tf32",
       "wmma.load.c.sync.aligned.{row,col}.m16n16k8{,.global,.shared,.shared::cta}.f32",
       "wmma.load.{a,b,c}.sync.aligned.{row,col}.m8n8k4{,.global,.shared,.shared::cta}.f64",
       "wmma.load.a.sync.aligned.row.m8n8k32{,.global,.shared,.shared::cta}.{s4,u4}",
       "wmma.load.b.sync.aligned.col.m8n8k32{,.global,.shared,.shared::cta}.{s4,u4}",
       "wmma.load.a.sync.aligned.row.m8n8k128{,.global,.shared,.shared::cta}.b1",
       "wmma.load.b.sync.aligned.col.m8n8k128{,.global,.shared,.shared::cta}.b1",
       "wmma.load.c.sync.aligned.{row,col}.{m8n8k32,m8n8k128}{,.global,.shared,.shared::cta}.s32",
       "wmma.store.d.sync.aligned.{row,col}.{m16n16k16,m32n8k16,m8n32k16}"
       "{,.global,.shared,.shared::cta}.{f16,f32,s32}",
       "wmma.store.d.sync.aligned.{row,col}.m16n16k8{,.global,.shared,.shared::cta}.f32",
       "wmma.store.d.sync.aligned.{row,col}.m8n8k4{,.global,.shared,.shared::cta}.f64",
       "wmma.store.d.sync.aligned.{row,col}.{m8n8k32,m8n8k128}{,.global,.shared,.shared::cta}.s32",
       "wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m32n8k16,m8n32k16}.{f16,f32}.{f16,"
       "f32}",
       "wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m32n8k16,m8n32k16}.f32.bf16.bf16.f32",
       "wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32",
       "wmma.mma.sync.aligned.{row,col}.{row,col}.m8n8k4{,.rn,.rz,.rm,.rp}.f64.f64.f64.f64",
       "wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m32n8k16,m8n32k16}.s32.{s8.s8,u8.u8}."
       "s32{,.satfinite}",
       "wmma.mma.sync.aligned.row.col.m8n8k32.s32.{s4.s4,u4.u4}.s32{,.satfinite}",
       "wmma.mma.{xor,and}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"});
}

}  // namespace bitgate::machine
