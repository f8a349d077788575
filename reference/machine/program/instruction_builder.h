#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/machine/memory/address_space.h"
#include "reference/machine/program/code.h"
#include "reference/machine/ptx/ast.h"

namespace bitgate::machine {

class EntryDecoder;

/// A place of the register file before it has an offset.
using VirtualRegister = std::uint32_t;

/// How an immediate's bits are read.
enum class Immediates : std::uint8_t { integer, f32, f64 };

/// What a decoder of the table fills for one instruction: an Op whose operands are registered as
/// definitions and uses, so that liveness can place them afterwards.
class InstructionBuilder {
 public:
  using Field = std::uint32_t Op::*;

  InstructionBuilder(EntryDecoder& decoder, const ptx::Instruction& text, std::uint32_t instance,
                     std::uint32_t scope, Op& op, std::uint32_t op_index);

  const ptx::Instruction& text;
  Op& op;

  /// Whether a modifier is among those written.
  bool has(std::string_view modifier) const;
  const std::string& modifier(std::size_t index) const;
  std::size_t count() const { return text.operands.size(); }
  /// Unsupported when there are fewer.
  const ptx::Operand& operand(std::size_t index) const;

  void define(Field field, const ptx::Operand& operand, Kind kind);
  /// For predicates, `bit` is the one of Op::flip that says it is negated.
  void use(Field field, const ptx::Operand& operand, Kind kind,
           Immediates immediates = Immediates::integer, int bit = 0);
  void use_constant(Field field, Kind kind, std::uint64_t value);

  /// Operands in Code::lists, from Op::list on.
  void begin_list();
  void list_define(const ptx::Operand& operand, Kind kind);
  void list_use(const ptx::Operand& operand, Kind kind,
                Immediates immediates = Immediates::integer);
  void list_use_constant(Kind kind, std::uint64_t value);
  void list_raw(std::uint32_t value);

  /// The kind of a register operand as declared; b32 for immediates.
  Kind declared_kind(const ptx::Operand& operand) const;
  /// Bytes of a register operand's declared type: wider registers than the instruction's type take
  /// an extended result (PTX ISA, "Operand Size Exceeding Instruction-Type Size"). 0: no register.
  std::uint32_t declared_bytes(const ptx::Operand& operand) const;
  bool is_sink(const ptx::Operand& operand) const {
    return operand.kind == ptx::Operand::Kind::sink;
  }

  /// `[base + offset]`: base into `field`, offset into Op::immediate. Says the space a symbol names
  /// (generic: the base is a register), and whether the base holds 32 bits.
  struct Address {
    Space symbol_space = Space::generic;
    bool base_is_32_bits = false;
  };
  Address address(Field field, const ptx::Operand& operand);
  /// Allocates the number by which the instruction's last allocation is remembered.
  void use_allocation_cache();
  void communicates();
  /// Whether the instruction stands in a device function: its own `.param`s are local variables.
  bool in_function() const;
  /// Unsupported when the entry is launched in clusters of several blocks: a cluster's shared
  /// memory is the block's own otherwise.
  void require_no_clusters() const;
  /// Op::immediate is to be the place of a label; the list gets more of them.
  void branch_to(const ptx::Operand& label);
  void list_branch_targets(const std::string& table);

 private:
  VirtualRegister resolve_use(const ptx::Operand& operand, Kind kind, Immediates immediates);
  VirtualRegister resolve_definition(const ptx::Operand& operand, Kind kind);

  EntryDecoder& decoder_;
  std::uint32_t instance_;
  std::uint32_t scope_;
  std::uint32_t op_index_;
};

}  // namespace bitgate::machine
