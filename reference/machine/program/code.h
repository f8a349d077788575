#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/machine/machine.h"
#include "reference/machine/ptx/ast.h"

namespace bitgate::machine {

struct Context;
struct Op;

/// Executes one instruction for the lanes in Context::active.
using Handler = void (*)(Context&, const Op&);

/// How control goes on after an instruction. All but `straight` and `converge` are carried out by
/// the warp itself (exec/warp.cpp), which owns the set of splits.
enum class Flow : std::uint8_t {
  straight,
  converge,  ///< a straight one that waits until the lanes its member mask names have arrived
  branch,
  indirect_branch,
  call,
  ret,  ///< from a procedure; a return from an entry is an exit
  exit,
  barrier,
  trap,
  unsupported
};

/// What an operand occupies in a warp's registers: 32 lanes of 4, 8 or 16 bytes, or one bit a lane.
/// Types of 8 and 16 bits lie zero-extended in 32. Of b128, the lower 8 bytes of all lanes come
/// first, then the upper ones.
enum class Kind : std::uint8_t { none, b32, b64, predicate, b128 };

/// 32-bit words that one lane's part of a register fills when it is saved.
std::uint32_t words_of(Kind kind);

/// One decoded instruction. Operands are byte offsets into the warp's register file, in which
/// immediates, special registers and addresses of variables have their place too: a handler never
/// asks where an operand comes from.
struct alignas(64) Op {
  Handler full = nullptr;    ///< all 32 lanes active
  Handler masked = nullptr;  ///< some lanes active; the others keep their registers
  std::uint32_t d = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t e = 0;      ///< a second destination or a fourth source
  std::uint32_t list = 0;   ///< first of the operands in Code::lists, for vectors
  std::uint32_t guard = 0;  ///< predicate; unguarded instructions name the one that is all ones
  std::uint32_t guard_flip = 0;  ///< all ones for @!p
  std::int64_t immediate = 0;    ///< address offset, branch target, shift count, …
  std::uint16_t cache = 0;       ///< number among the memory instructions
  std::uint8_t extra = 0;        ///< count or selector of the instruction's group
  std::uint8_t flip = 0;         ///< bit i: predicate source i of a, b, c is negated
  bool guarded = false;
  Flow flow = Flow::straight;
};

/// One register operand of an op, for who follows values through registers (hazard/flow.h).
struct RegisterOperand {
  enum class Field : std::uint8_t { d, a, b, c, e, list, guard };
  std::uint32_t offset = 0;
  Kind kind = Kind::b32;
  Field field = Field::d;
  bool defines = false;
};

/// Special registers that have a place in the register file.
enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  zero,
  one
};

/// A place that is filled before a warp starts.
struct ConstantPlace {
  std::uint32_t offset = 0;
  Kind kind = Kind::b32;
  std::uint64_t value = 0;
  std::string global;  ///< not empty: the address of this `.global` variable plus `value`
};
struct SpecialPlace {
  std::uint32_t offset = 0;
  Kind kind = Kind::b32;
  Special special = Special::zero;
};

struct DebugLine {
  std::string instruction;  ///< as written
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t ptx_line = 0;
  std::string unsupported;  ///< why, when the instruction is not implemented
  std::string mnemonic;     ///< opcode and modifiers as written: "ld.global.v4.u32"
};

struct GlobalVariable {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
  std::vector<std::byte> initial;
  std::vector<ptx::Variable::Relocation> relocations;
};

/// Of a thread, where code calls procedures or allocates on the stack. CUDA's own limit is lower
/// unless a program raises it (cudaLimitStackSize), so that what runs there has room here.
inline constexpr std::uint32_t kStackBytes = 64 * 1024;

/// A function that is called at run time. Its `.param` and `.local` variables lie in a frame on the
/// thread's stack, the formal parameters first.
struct Procedure {
  std::string name;
  std::uint32_t entry = 0;  ///< first of its ops
  std::uint32_t frame_bytes = 0;
  std::uint32_t frame_alignment = 16;
  /// Offset and bytes of each formal, parameters before results: a call must say the same.
  std::vector<std::uint32_t> signature;
};

/// One call instruction of a procedure (Op::immediate of Flow::call is its number). Where it is
/// through a register, Op::a holds the address.
struct CallSite {
  static constexpr std::uint32_t kIndirect = 0xffffffffU;
  std::uint32_t procedure = kIndirect;
  /// Between the caller's variable and the callee's frame.
  struct Copy {
    std::uint32_t caller_offset = 0;
    std::uint32_t callee_offset = 0;
    std::uint32_t bytes = 0;
  };
  std::vector<Copy> arguments;
  std::vector<Copy> results;
  bool caller_has_frame = false;  ///< caller_offset counts from the caller's own frame
  std::vector<std::uint32_t> signature;
  /// Registers that the caller needs afterwards; the callee has the whole register file.
  struct Saved {
    std::uint32_t offset = 0;
    Kind kind = Kind::b32;
  };
  std::vector<Saved> saved;
  std::uint32_t saved_words = 0;
};

/// An entry with all functions it calls, ready to run.
struct Code {
  std::string name;
  std::uint32_t start = 0;  ///< where threads begin; procedures lie before it
  std::vector<Op> ops;
  std::vector<DebugLine> debug;  ///< one an op
  std::vector<std::uint32_t> lists;
  /// Register operands of op i: from first_operand[i] to first_operand[i + 1], in the order in
  /// which its decoder named them.
  std::vector<RegisterOperand> operands;
  std::vector<std::uint32_t> first_operand;
  std::vector<ConstantPlace> constants;
  std::vector<SpecialPlace> specials;
  std::uint32_t register_bytes = 0;  ///< of a warp
  std::uint32_t memory_ops = 0;

  std::vector<ParameterSlot> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_offset = 0;
  std::uint32_t local_bytes = 0;  ///< of a thread, without its stack
  std::uint32_t stack_bytes = 0;  ///< of a thread; 0: neither calls nor alloca
  std::vector<Procedure> procedures;
  std::map<std::uint64_t, std::uint32_t> procedure_at;  ///< by the address of its function
  std::vector<CallSite> calls;
  std::uint32_t frame_register = 0;  ///< where the running procedure's frame begins, if any
  /// Places of the register file that are not filled before a warp starts: offset and bytes.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> scratch;
  std::vector<std::uint32_t> maxntid;
  std::vector<std::uint32_t> reqntid;
  /// Holds atomics, volatile, relaxed, acquire or release accesses or fences: blocks may wait for
  /// each other, and what they see may depend on order.
  bool communicates = false;
  std::uint32_t contractible = 0;
  std::uint32_t approximate = 0;

  /// What addresses of local memory are below.
  std::uint32_t local_window() const { return local_bytes + stack_bytes; }
  /// From one thread's local memory to the next one's; off a power of two, for the host's cache.
  std::uint32_t local_stride() const {
    return stack_bytes == 0 ? local_bytes : local_window() + 80;
  }
};

struct Program::Impl {
  std::uint64_t number = 0;  ///< of this load, in this process
  std::string name;
  std::vector<Code> codes;
  std::vector<std::byte> constant_bank;  ///< `.const` variables, laid out
  /// Initialisers in the bank that are addresses, by their place in it.
  std::vector<ptx::Variable::Relocation> constant_relocations;
  std::vector<GlobalVariable> globals;
  /// Generic addresses of functions and `.const` variables, and the latter's own.
  std::map<std::string, std::uint64_t> function_address;
  std::map<std::string, std::uint64_t> constant_offset;

  const Code& code(std::string_view entry) const;
};

}  // namespace bitgate::machine
