#include "reference/machine/program/instruction_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "reference/machine/program/entry_decoder.h"
#include "reference/support/error.h"

namespace bitgate::machine {

namespace {

std::uint64_t immediate_bits(const ptx::Immediate& immediate, Immediates as) {
  using From = ptx::Immediate::Kind;
  switch (as) {
    case Immediates::f32:
      if (immediate.kind == From::f64) {
        return std::bit_cast<std::uint32_t>(
            static_cast<float>(std::bit_cast<double>(immediate.bits)));
      }
      return immediate.bits & 0xffffffffU;
    case Immediates::f64:
      if (immediate.kind == From::f32) {
        const auto bits = static_cast<std::uint32_t>(immediate.bits);
        return std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(bits)));
      }
      return immediate.bits;
    case Immediates::integer:
      break;
  }
  return immediate.bits;
}

}  // namespace

InstructionBuilder::InstructionBuilder(EntryDecoder& decoder, const ptx::Instruction& in,
                                       std::uint32_t instance, std::uint32_t scope, Op& o,
                                       std::uint32_t op_index)
    : text(in), op(o), decoder_(decoder), instance_(instance), scope_(scope), op_index_(op_index) {}

bool InstructionBuilder::has(std::string_view modifier) const {
  return std::find(text.modifiers.begin(), text.modifiers.end(), modifier) != text.modifiers.end();
}

const std::string& InstructionBuilder::modifier(std::size_t index) const {
  if (index >= text.modifiers.size()) throw Unsupported("a modifier is missing");
  return text.modifiers[index];
}

const ptx::Operand& InstructionBuilder::operand(std::size_t index) const {
  if (index >= text.operands.size()) {
    throw Unsupported(fmt::format("operand {} is missing", index + 1));
  }
  return text.operands[index];
}

Kind InstructionBuilder::declared_kind(const ptx::Operand& operand) const {
  if (operand.kind != ptx::Operand::Kind::reg) return Kind::b32;
  Kind kind = Kind::none;
  if (!decoder_.find_register(instance_, scope_, operand.name, kind)) {
    throw Unsupported(fmt::format("register '{}' is not declared", operand.name));
  }
  return kind;
}

std::uint32_t InstructionBuilder::declared_bytes(const ptx::Operand& operand) const {
  Kind kind = Kind::none;
  std::uint32_t bytes = 0;
  if (operand.kind != ptx::Operand::Kind::reg) return 0;
  decoder_.find_register(instance_, scope_, operand.name, kind, &bytes);
  return bytes;
}

VirtualRegister InstructionBuilder::resolve_definition(const ptx::Operand& operand, Kind kind) {
  if (operand.kind == ptx::Operand::Kind::sink) return decoder_.registers_.add(kind);
  if (operand.kind != ptx::Operand::Kind::reg) throw Unsupported("the destination is no register");
  Kind declared = Kind::none;
  const auto reg = decoder_.find_register(instance_, scope_, operand.name, declared);
  if (!reg) throw Unsupported(fmt::format("register '{}' is not declared", operand.name));
  if (declared != kind) {
    throw Unsupported(
        fmt::format("register '{}' has not the width of the instruction", operand.name));
  }
  return *reg;
}

VirtualRegister InstructionBuilder::resolve_use(const ptx::Operand& operand, Kind kind,
                                                Immediates immediates) {
  using Of = ptx::Operand::Kind;
  switch (operand.kind) {
    case Of::reg: {
      if (operand.negated && kind != Kind::predicate) {
        throw Unsupported(fmt::format("negated operand '{}'", operand.name));
      }
      return resolve_definition(operand, kind);
    }
    case Of::immediate: {
      std::uint64_t bits = immediate_bits(operand.immediate, immediates);
      if (kind == Kind::predicate) bits = bits != 0 ? 0xffffffffU : 0;
      if (kind == Kind::b32) bits &= 0xffffffffU;
      return decoder_.constant(kind, bits);
    }
    case Of::special:
      return decoder_.special(operand.name, kind);
    case Of::symbol: {
      if (operand.name == "WARP_SZ") return decoder_.constant(kind, 32);
      if (const auto address = decoder_.frame_address(operand, kind)) return *address;
      const EntryDecoder::Entity* entity = decoder_.find(instance_, scope_, operand.name);
      if (entity == nullptr) {
        const auto function = decoder_.program_.function_address.find(operand.name);
        if (function != decoder_.program_.function_address.end() && kind == Kind::b64) {
          return decoder_.constant(kind, function->second);
        }
      }
      if (entity == nullptr || entity->what != EntryDecoder::Entity::What::variable ||
          entity->in_frame) {
        throw Unsupported(fmt::format("the address of '{}' is not known", operand.name));
      }
      const std::uint64_t value = entity->offset + static_cast<std::uint64_t>(operand.offset);
      return decoder_.constant(kind, kind == Kind::b32 ? value & 0xffffffffU : value,
                               entity->global);
    }
    case Of::address:
    case Of::vector:
    case Of::pair:
    case Of::call_list:
    case Of::sink:
      break;
  }
  throw Unsupported("an operand is not of a form that the instruction takes");
}

void InstructionBuilder::define(Field field, const ptx::Operand& operand, Kind kind) {
  decoder_.registers_.refer(op_index_, field, resolve_definition(operand, kind),
                            RegisterUse::Role::definition);
}

void InstructionBuilder::use(Field field, const ptx::Operand& operand, Kind kind,
                             Immediates immediates, int bit) {
  decoder_.registers_.refer(op_index_, field, resolve_use(operand, kind, immediates),
                            RegisterUse::Role::use);
  if (kind == Kind::predicate && operand.negated) {
    op.flip = static_cast<std::uint8_t>(op.flip | 1U << bit);
  }
}

void InstructionBuilder::use_constant(Field field, Kind kind, std::uint64_t value) {
  decoder_.registers_.refer(op_index_, field, decoder_.constant(kind, value),
                            RegisterUse::Role::use);
}

void InstructionBuilder::begin_list() {
  op.list = static_cast<std::uint32_t>(decoder_.code_.lists.size());
}

void InstructionBuilder::list_define(const ptx::Operand& operand, Kind kind) {
  const VirtualRegister reg = resolve_definition(operand, kind);
  decoder_.registers_.refer_list(op_index_, static_cast<std::uint32_t>(decoder_.code_.lists.size()),
                                 reg, RegisterUse::Role::definition);
  decoder_.code_.lists.push_back(0);
}

void InstructionBuilder::list_use(const ptx::Operand& operand, Kind kind, Immediates immediates) {
  const VirtualRegister reg = resolve_use(operand, kind, immediates);
  decoder_.registers_.refer_list(op_index_, static_cast<std::uint32_t>(decoder_.code_.lists.size()),
                                 reg, RegisterUse::Role::use);
  decoder_.code_.lists.push_back(0);
}

void InstructionBuilder::list_use_constant(Kind kind, std::uint64_t value) {
  decoder_.registers_.refer_list(op_index_, static_cast<std::uint32_t>(decoder_.code_.lists.size()),
                                 decoder_.constant(kind, value), RegisterUse::Role::use);
  decoder_.code_.lists.push_back(0);
}

void InstructionBuilder::list_raw(std::uint32_t value) { decoder_.code_.lists.push_back(value); }

InstructionBuilder::Address InstructionBuilder::address(Field field, const ptx::Operand& operand) {
  if (operand.kind != ptx::Operand::Kind::address) throw Unsupported("an address was expected");
  Address result;
  op.immediate = operand.offset;
  if (operand.base_is_register) {
    Kind kind = Kind::none;
    const auto reg = decoder_.find_register(instance_, scope_, operand.name, kind);
    if (!reg) throw Unsupported(fmt::format("register '{}' is not declared", operand.name));
    if (kind != Kind::b32 && kind != Kind::b64) throw Unsupported("the base is no address");
    result.base_is_32_bits = kind == Kind::b32;
    decoder_.registers_.refer(op_index_, field, *reg, RegisterUse::Role::use);
    return result;
  }
  if (operand.name.empty()) {
    use_constant(field, Kind::b64, 0);
    return result;
  }
  const EntryDecoder::Entity* entity = decoder_.find(instance_, scope_, operand.name);
  if (entity == nullptr || entity->what != EntryDecoder::Entity::What::variable) {
    throw Unsupported(fmt::format("variable '{}' is not declared", operand.name));
  }
  result.symbol_space = entity->space;
  if (entity->in_frame) {
    op.immediate += static_cast<std::int64_t>(entity->offset);
    decoder_.registers_.refer(op_index_, field, *decoder_.frame_, RegisterUse::Role::use);
    return result;
  }
  decoder_.registers_.refer(op_index_, field,
                            decoder_.constant(Kind::b64, entity->offset, entity->global),
                            RegisterUse::Role::use);
  return result;
}

void InstructionBuilder::use_allocation_cache() {
  op.cache = static_cast<std::uint16_t>(std::min<std::uint32_t>(decoder_.code_.memory_ops, 65535));
  ++decoder_.code_.memory_ops;
}

bool InstructionBuilder::in_function() const {
  return !decoder_.instances_[instance_].function->is_entry;
}

void InstructionBuilder::require_no_clusters() const {
  if (decoder_.in_clusters()) {
    throw Unsupported("launches in clusters of blocks are not implemented");
  }
}

void InstructionBuilder::communicates() { decoder_.code_.communicates = true; }

void InstructionBuilder::branch_to(const ptx::Operand& label) {
  const EntryDecoder::Entity* entity = decoder_.find(instance_, scope_, label.name);
  if (label.kind != ptx::Operand::Kind::symbol || entity == nullptr ||
      entity->what != EntryDecoder::Entity::What::label) {
    throw Unsupported(fmt::format("label '{}' is not declared", label.name));
  }
  decoder_.label_uses_.push_back({op_index_, false, 0, entity->label});
}

void InstructionBuilder::list_branch_targets(const std::string& table) {
  const auto& tables = decoder_.instances_[instance_].tables;
  const auto found = tables.find(table);
  if (found == tables.end() || found->second->directive != "branchtargets") {
    throw Unsupported(fmt::format("'{}' names no .branchtargets", table));
  }
  begin_list();
  for (const std::string& target : found->second->targets) {
    const EntryDecoder::Entity* entity = decoder_.find(instance_, scope_, target);
    if (entity == nullptr || entity->what != EntryDecoder::Entity::What::label) {
      throw Unsupported(fmt::format("label '{}' is not declared", target));
    }
    decoder_.label_uses_.push_back(
        {op_index_, true, static_cast<std::uint32_t>(decoder_.code_.lists.size()), entity->label});
    list_raw(0);
  }
  op.immediate = static_cast<std::int64_t>(found->second->targets.size());
}

}  // namespace bitgate::machine
