#include <algorithm>
#include <cstring>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/hazard/flow_labels.h"

// Labels through fragments of matrices. The layouts are those of exec/matrix_fragments.h and
// exec/matrix_wmma.cpp: a register's lanes are eight rows of four words.

namespace bitgate::machine::hazard {

namespace {

using Role = MatrixFlow::Role;

/// m8n32 is the transposed product: Bᵀ in the place of A.
bool turned(const MatrixFlow& m) { return m.m == 8 && m.n == 32; }
unsigned left(const MatrixFlow& m) { return turned(m) ? m.n : m.m; }
unsigned right(const MatrixFlow& m) { return turned(m) ? m.m : m.n; }
bool is_left(const MatrixFlow& m, Role role) { return (role == Role::a) != turned(m); }
unsigned word_bytes(const MatrixFlow& m) { return m.element_bits == 64 ? 8 : 4; }
/// Groups of eight rows that lie side by side in the registers of a side.
unsigned groups_together(const MatrixFlow& m, Role role) {
  return is_left(m, role) && left(m) >= 16 ? 2 : 1;
}

/// Where something is in a fragment.
struct Spot {
  unsigned reg = 0;
  unsigned lane = 0;
  unsigned byte = 0;  ///< of the lane's part
};

/// Byte `k_byte` of a row of A or of a column of B; `blocks` registers are a row's length.
Spot side_spot(const MatrixFlow& m, Role role, unsigned blocks, unsigned row, unsigned k_byte) {
  const unsigned word = word_bytes(m);
  const unsigned together = groups_together(m, role);
  const unsigned chunk = row / (8 * together);
  const unsigned group = row / 8 % together;
  const unsigned block = k_byte / (4 * word);
  return {chunk * together * blocks + block * together + group,
          4 * (row % 8) + k_byte % (4 * word) / word, k_byte % word};
}

/// The row that a lane of a register holds.
unsigned row_of(const MatrixFlow& m, Role role, unsigned blocks, unsigned reg, unsigned lane) {
  const unsigned together = groups_together(m, role);
  const unsigned chunk = reg / (together * blocks);
  return chunk * 8 * together + reg % together * 8 + lane / 4;
}

Spot sum_spot(const MatrixFlow& m, unsigned bits, unsigned row, unsigned column) {
  const unsigned tile_rows = left(m) < 16 ? 8 : 16;
  const unsigned groups = tile_rows / 8;
  const unsigned tile = row / tile_rows * (right(m) / 8) + column / 8;
  const unsigned group = row % tile_rows / 8;
  const unsigned lane = 4 * (row % 8) + column % 8 / 2;
  if (bits == 16) return {tile * groups + group, lane, column % 2 * 2};
  return {tile * groups * 2 + 2 * group + column % 2, lane, 0};
}

std::byte* bytes_at(std::byte* shadow, unsigned word, const Spot& spot) {
  return shadow + std::size_t{spot.lane} * word + spot.byte;
}

bool labelled_bytes(const std::byte* at, std::size_t bytes) {
  return std::any_of(at, at + bytes, [](std::byte b) { return b != std::byte{0}; });
}

unsigned blocks_of(unsigned registers, unsigned rows) {
  return std::max(1U, registers / std::max(1U, rows / 8));
}

}  // namespace

/// Rows of the left and columns of the right factor that have a label somewhere along k.
struct Labels::Sides {
  std::array<bool, 32> rows{};
  std::array<bool, 32> columns{};
};

Labels::Sides Labels::sides(const OpFlow& flow) const {
  const MatrixFlow& m = table_.matrix(flow);
  const FlowOperand* operand = table_.operands(flow) + flow.definitions;
  Sides result;
  const auto collect = [&](Role role, unsigned registers, unsigned rows) {
    // wmma: registers beyond the fragment hold copies.
    const unsigned row_registers =
        flow.rule == Rule::wmma
            ? std::max(1U, rows / 8U * ((m.k_bytes + 4 * word_bytes(m) - 1) / (4 * word_bytes(m))))
            : registers;
    const unsigned used = std::min(registers, row_registers);
    const unsigned blocks = blocks_of(used, rows);
    auto& marks = is_left(m, role) ? result.rows : result.columns;
    for (unsigned reg = 0; reg < used; ++reg) {
      each_lane(lanes_of(operand[reg].number), [&](std::size_t lane) {
        marks[row_of(m, role, blocks, reg, static_cast<unsigned>(lane)) % 32] = true;
      });
    }
    operand += registers;
  };
  collect(Role::a, m.a_registers, m.m);
  collect(Role::b, m.b_registers, m.n);
  if (flow.rule == Rule::mma_sparse) {
    // The metadata of a row lie in the lanes of its group.
    each_lane(lanes_of(operand[m.c_registers].number), [&](std::size_t lane) {
      result.rows[lane / 4] = true;
      result.rows[lane / 4 + 8] = true;
    });
  }
  return result;
}

void Labels::apply_matrix(const OpFlow& flow) {
  const MatrixFlow& m = table_.matrix(flow);
  const FlowOperand* operands = table_.operands(flow);
  const Sides labelled = sides(flow);
  const FlowOperand* sums = operands + flow.definitions + m.a_registers + m.b_registers;
  // A definition may be a source: all is read before anything is written.
  std::array<std::array<bool, 32>, 32> elements{};
  for (unsigned row = 0; row < left(m); ++row) {
    for (unsigned column = 0; column < right(m); ++column) {
      const Spot from = sum_spot(m, m.c_bits, row, column);
      const unsigned word = m.c_bits == 64 ? 8 : 4;
      const bool sum =
          shadow_->labelled[sums[from.reg].number] != 0 &&
          labelled_bytes(bytes_at(at(sums[from.reg].number), word, from), m.c_bits / 8U);
      elements[row][column] = labelled.rows[row] || labelled.columns[column] || sum;
    }
  }
  for (unsigned row = 0; row < left(m); ++row) {
    for (unsigned column = 0; column < right(m); ++column) {
      const Spot to = sum_spot(m, m.d_bits, row, column);
      const unsigned word = m.d_bits == 64 ? 8 : 4;
      std::memset(bytes_at(at(operands[to.reg].number), word, to), elements[row][column] ? 0xff : 0,
                  m.d_bits / 8U);
    }
  }
  for (unsigned i = 0; i < flow.definitions; ++i) update(operands[i].number);
}

/// One line of a matrix in memory, of wmma.load or .store, which come in order.
void Labels::wmma_line(Context& x, const OpFlow& flow, const MemoryAccess& access) {
  const MatrixFlow& m = table_.matrix(flow);
  const bool loads = flow.rule == Rule::wmma_load;
  const FlowOperand* registers = table_.operands(flow);
  const unsigned count = loads ? flow.definitions : flow.data;
  const unsigned line = line_++;
  std::array<std::byte, 512> bytes{};
  if (access.bytes > bytes.size()) return;
  if (loads) {
    if (line == 0) {
      for (unsigned i = 0; i < count; ++i) clear_definition(registers[i].number, kAllLanes);
    }
    read_labels(x, access, 0, bytes.data());
    if (!labelled_bytes(bytes.data(), access.bytes)) return;
  }
  const unsigned word = word_bytes(m);
  const unsigned rows = m.role == Role::a ? m.m : m.n;
  const unsigned blocks = std::max(1U, (m.k_bytes + 4 * word - 1) / (4 * word));
  const unsigned element = std::max(1U, m.element_bits / 8U);
  for (unsigned i = 0; i < access.bytes; ++i) {
    Spot spot;
    if (m.role == Role::accumulator) {
      const unsigned inner = i / element;
      const unsigned row = m.column_major ? inner : line;
      const unsigned column = m.column_major ? line : inner;
      spot = sum_spot(m, m.element_bits, turned(m) ? column : row, turned(m) ? row : column);
      spot.byte += i % element;
    } else if (m.column_major == (m.role == Role::b)) {
      spot = side_spot(m, m.role, blocks, line, i);
    } else {
      spot = side_spot(m, m.role, blocks, i / element, line * element + i % element);
    }
    if (spot.reg >= count) continue;
    std::byte* label = bytes_at(at(registers[spot.reg].number), word, spot);
    if (loads) {
      *label = bytes[i];
    } else {
      bytes[i] = *label;
    }
  }
  if (!loads) {
    write_labels(x, access, 0, bytes.data());
    if (labelled_bytes(bytes.data(), access.bytes)) {
      note_origin(x, access, 0, inherited(x, flow));
    }
    return;
  }
  const OriginId origin = memory_origin(x, access, 0);
  const unsigned used = m.role == Role::accumulator ? count : std::min(count, rows / 8 * blocks);
  for (unsigned i = 0; i < count; ++i) {
    if (used != 0 && i >= used) {
      std::memcpy(at(registers[i].number), at(registers[i % used].number), 4 * kLanes);
    }
    update(registers[i].number);
    if (shadow_->labelled[registers[i].number] != 0) shadow_->origin[registers[i].number] = origin;
  }
}

/// ldmatrix and stmatrix: lane 8·i + r has the address of row r of matrix i.
void Labels::move_rows(Context& x, const OpFlow& flow, const MemoryAccess& access) {
  const bool loads = flow.rule == Rule::matrix_load;
  const FlowOperand* registers = table_.operands(flow);
  const unsigned count = loads ? flow.definitions : flow.data;
  const auto labelled = [&](unsigned i) { return shadow_->labelled[registers[i].number] != 0; };
  bool any = false;
  for (unsigned i = 0; i < count; ++i) any = any || labelled(i);
  if (loads && !any_in_memory(x, access)) {
    for (unsigned i = 0; i < count; ++i) clear_definition(registers[i].number, kAllLanes);
    return;
  }
  OriginId origin = 0;
  for (unsigned i = 0; i < count; ++i) {
    std::uint16_t matrix[8][8] = {};
    std::uint16_t transposed[8][8] = {};
    auto* shadow = at(registers[i].number);
    const auto transpose = [&](const std::uint16_t(&from)[8][8], std::uint16_t(&to)[8][8]) {
      for (unsigned row = 0; row < 8; ++row) {
        for (unsigned column = 0; column < 8; ++column) to[column][row] = from[row][column];
      }
    };
    if (loads) {
      for (unsigned row = 0; row < 8; ++row) {
        auto* out = reinterpret_cast<std::byte*>(matrix[row]);
        read_labels(x, access, i * 8 + row, out);
        if (origin == 0 && labelled_bytes(out, 16)) origin = memory_origin(x, access, i * 8 + row);
      }
      transpose(matrix, transposed);
      std::memcpy(shadow, flow.transposed ? transposed : matrix, sizeof(matrix));
      update(registers[i].number);
      if (labelled(i)) shadow_->origin[registers[i].number] = origin;
    } else {
      if (any) std::memcpy(matrix, shadow, sizeof(matrix));
      transpose(matrix, transposed);
      for (unsigned row = 0; row < 8; ++row) {
        write_labels(
            x, access, i * 8 + row,
            reinterpret_cast<const std::byte*>(flow.transposed ? transposed[row] : matrix[row]));
      }
    }
  }
}

}  // namespace bitgate::machine::hazard
