#pragma once

#include <cstdint>
#include <vector>

#include "reference/machine/hazard/label.h"
#include "reference/machine/program/code.h"

namespace bitgate::machine::hazard {

using RegisterKind = machine::Kind;

/// How a label on bits (undefined; from a buffer; of the schedule) goes through an instruction:
/// from which of its operands to which. One table serves all labels.

enum class Rule : std::uint8_t {
  none,         ///< carries nothing
  defined,      ///< results depend on no operand
  any,          ///< a bit of any source labels all of the result, lane by lane
  copy,         ///< the result has its source's bits where they are
  move,         ///< bits are moved: the instruction itself moves the labels of its data
  shuffle,      ///< the same, from other lanes
  bit_and,      ///< a clear bit without label decides
  bit_or,       ///< a set one decides
  bit_xor,      ///< bit by bit
  lop3,         ///< bit by bit, by the table
  carry,        ///< from the lowest labelled bit upwards: add, sub, neg, mul.lo, mad.lo
  halves,       ///< 16 bits each: f16x2, bf16x2, u16x2
  pack_halves,  ///< two sources, the first into the upper half
  ballot,       ///< a lane's predicate is a bit of the result
  across,       ///< any lane of the group labels the result of all
  mma,          ///< d(i,j): row i of A, column j of B, c(i,j)
  mma_sparse,   ///< the same, and the metadata of the row
  wmma,         ///< as mma, in wmma's fragments
  load,
  store,
  atomic,
  copy_async,
  matrix_load,   ///< ldmatrix
  matrix_store,  ///< stmatrix
  wmma_load,
  wmma_store,
  mbarrier,
  barrier,
  exit,
  call,
  ret,
  system,  ///< vprintf, malloc, …
  alloca
};

/// Whether what the definitions get, or memory, is seen to when the addresses are known.
constexpr bool moves_memory(Rule rule) { return rule >= Rule::load && rule <= Rule::mbarrier; }

/// Which registers an op names. Numbers count the places of the register file that any op names;
/// two have none there.
inline constexpr std::uint32_t kNoRegister = 0;     ///< never labelled
inline constexpr std::uint32_t kCarryRegister = 1;  ///< CC.CF

struct FlowOperand {
  std::uint32_t number = kNoRegister;
  RegisterKind kind = RegisterKind::b32;
  Sink sink = Sink::none;  ///< of steering operands
  bool negated = false;    ///< a predicate source
};

enum class AtomicEffect : std::uint8_t {
  combine,   ///< any labelled bit of either labels the new value: add, min, max, inc, dec
  bitwise,   ///< and, or, xor
  exchange,  ///< the new value is the operand
  compare    ///< cas
};

/// Sets of registers as bits, several registers to a bit. An instruction whose bits have none in
/// common with those of the registers that are labelled has nothing to do for labels.
using RegisterBits = std::uint64_t;
inline constexpr RegisterBits kAlways = 1;  ///< is in the set of every warp
constexpr RegisterBits bit_of(std::uint32_t number) { return RegisterBits{2} << number % 63; }

struct OpFlow {
  RegisterBits watched = 0;  ///< registers that it reads or defines, but for what memory moves
  RegisterBits moved = 0;    ///< its data and definitions
  std::uint32_t first = 0;   ///< of FlowTable::operands: definitions, data, steering
  std::uint8_t definitions = 0;
  std::uint8_t data = 0;
  std::uint8_t steering = 0;  ///< shift counts, selectors, addresses, masks, …
  Rule rule = Rule::none;
  bool always = false;  ///< has something to do without labels as well
  Sink guard_sink = Sink::none;
  std::uint32_t guard = kNoRegister;
  bool is_signed = false;   ///< of loads: extends the sign
  bool transposed = false;  ///< of ldmatrix, stmatrix
  AtomicEffect atomic{};    ///< of atomics
  bool atomic_is_float = false;
  bool atomic_commutes = false;     ///< with itself, on integers: add, min, max, and, or, xor
  bool result_used = false;         ///< of atomics: not a red, not to `_`
  bool initialises = false;         ///< mbarrier.init, .inval
  bool schedule_dependent = false;  ///< its result depends on the schedule: see taint.h
  std::uint16_t matrix = 0;         ///< index into FlowTable::matrices
};

/// The shape of an mma or wmma, as its fragments are laid out (exec/matrix_fragments.h).
struct MatrixFlow {
  enum class Role : std::uint8_t { a, b, accumulator };
  std::uint8_t m = 0;
  std::uint8_t n = 0;
  std::uint16_t k_bytes = 0;      ///< of a row of A
  std::uint8_t element_bits = 0;  ///< of what wmma.load and .store move
  std::uint8_t d_bits = 32;       ///< of an accumulator that is written
  std::uint8_t c_bits = 32;
  std::uint8_t a_registers = 0;
  std::uint8_t b_registers = 0;
  std::uint8_t d_registers = 0;
  std::uint8_t c_registers = 0;
  Role role{};
  bool column_major = false;
};

class FlowTable {
 public:
  explicit FlowTable(const Code& code);

  const OpFlow& operator[](std::uint32_t pc) const { return flows_[pc]; }
  const FlowOperand* operands(const OpFlow& flow) const { return operands_.data() + flow.first; }
  const MatrixFlow& matrix(const OpFlow& flow) const { return matrices_[flow.matrix]; }

  struct Register {
    std::uint32_t offset = 0;
    RegisterKind kind = RegisterKind::predicate;
    bool pinned = false;           ///< filled before the warp starts
    bool maybe_undefined = false;  ///< some thread may read it before anything wrote it
  };
  const std::vector<Register>& registers() const { return registers_; }
  /// Bytes of a shadow of the registers: the register file and what else has a number.
  std::uint32_t shadow_bytes() const { return shadow_bytes_; }

 private:
  friend class FlowBuilder;
  std::vector<OpFlow> flows_;
  std::vector<FlowOperand> operands_;
  std::vector<MatrixFlow> matrices_;
  std::vector<Register> registers_;
  std::uint32_t shadow_bytes_ = 0;
};

}  // namespace bitgate::machine::hazard
