#include "reference/machine/program/entry_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "reference/machine/program/decode_table.h"
#include "reference/machine/program/layout.h"
#include "reference/support/error.h"

namespace bitgate::machine {

namespace {

constexpr std::size_t kMostOps = std::size_t{1} << 20;
constexpr std::uint64_t kMostSharedBytes = std::uint64_t{1} << 24;
constexpr std::size_t kMostRegisters = std::size_t{1} << 20;

std::string mnemonic_of(const ptx::Instruction& text) {
  std::string result = text.opcode;
  for (const std::string& modifier : text.modifiers) result += "." + modifier;
  return result;
}

void collect_names(const ptx::Operand& operand, std::set<std::string>& names) {
  if (operand.kind == ptx::Operand::Kind::symbol || operand.kind == ptx::Operand::Kind::address) {
    names.insert(operand.name);
  }
  for (const ptx::Operand& element : operand.elements) collect_names(element, names);
}

std::optional<Special> special_named(const std::string& name, bool in_clusters) {
  static const std::map<std::string, Special> kSpecials{
      {"%tid.x", Special::tid_x},
      {"%tid.y", Special::tid_y},
      {"%tid.z", Special::tid_z},
      {"%ntid.x", Special::ntid_x},
      {"%ntid.y", Special::ntid_y},
      {"%ntid.z", Special::ntid_z},
      {"%ctaid.x", Special::ctaid_x},
      {"%ctaid.y", Special::ctaid_y},
      {"%ctaid.z", Special::ctaid_z},
      {"%nctaid.x", Special::nctaid_x},
      {"%nctaid.y", Special::nctaid_y},
      {"%nctaid.z", Special::nctaid_z},
      {"%laneid", Special::laneid},
      {"%warpid", Special::warpid},
      {"%nwarpid", Special::nwarpid},
      {"%smid", Special::smid},
      {"%nsmid", Special::nsmid},
      {"%gridid", Special::gridid},
      {"%lanemask_eq", Special::lanemask_eq},
      {"%lanemask_le", Special::lanemask_le},
      {"%lanemask_lt", Special::lanemask_lt},
      {"%lanemask_ge", Special::lanemask_ge},
      {"%lanemask_gt", Special::lanemask_gt},
      {"%dynamic_smem_size", Special::dynamic_smem_size},
      {"%total_smem_size", Special::total_smem_size},
      {"%aggr_smem_size", Special::total_smem_size},
      {"%current_graph_exec", Special::zero},
      {"%tid.w", Special::zero},
      {"%ntid.w", Special::zero},
      {"%ctaid.w", Special::zero},
      {"%nctaid.w", Special::zero},
  };
  // A launch without clusters is one of clusters of one block each (PTX ISA, "%clusterid").
  static const std::map<std::string, Special> kClusters{
      {"%clusterid.x", Special::ctaid_x},      {"%clusterid.y", Special::ctaid_y},
      {"%clusterid.z", Special::ctaid_z},      {"%nclusterid.x", Special::nctaid_x},
      {"%nclusterid.y", Special::nctaid_y},    {"%nclusterid.z", Special::nctaid_z},
      {"%cluster_ctaid.x", Special::zero},     {"%cluster_ctaid.y", Special::zero},
      {"%cluster_ctaid.z", Special::zero},     {"%cluster_nctaid.x", Special::one},
      {"%cluster_nctaid.y", Special::one},     {"%cluster_nctaid.z", Special::one},
      {"%cluster_ctarank", Special::zero},     {"%cluster_nctarank", Special::one},
      {"%is_explicit_cluster", Special::zero},
  };
  if (const auto found = kSpecials.find(name); found != kSpecials.end()) return found->second;
  if (const auto found = kClusters.find(name); found != kClusters.end()) {
    if (in_clusters) throw Unsupported("launches in clusters of blocks are not implemented");
    return found->second;
  }
  // Performance counters that nobody set up, and registers of the driver's environment.
  if (name.starts_with("%pm") || name.starts_with("%envreg")) return Special::zero;
  return std::nullopt;
}

}  // namespace

EntryDecoder::EntryDecoder(const ModuleLayout& layout, const Program::Impl& program,
                           const ptx::Function& entry)
    : layout_(layout), program_(program), entry_(entry), plan_(plan_calls(layout, entry)) {}

Code EntryDecoder::decode() {
  code_.name = entry_.name;
  if (entry_.maxntid) code_.maxntid = *entry_.maxntid;
  if (entry_.reqntid) code_.reqntid = *entry_.reqntid;
  // The predicate that guards what has no guard: the first register, so that its offset is 0.
  always_ = registers_.add_pinned(Kind::predicate);

  lay_out_parameters();
  lay_out_shared();
  declare_procedures();
  // Procedures come first: the split with the smallest place goes first, so that lanes return from
  // a call before others go on past it.
  for (std::uint32_t i = 0; i < plan_.procedures.size(); ++i) decode_procedure(i);
  const auto root = static_cast<std::uint32_t>(instances_.size());
  Instance& made = instances_.emplace_back();
  made.function = &entry_;
  made.end_label = new_label();
  declare(root);
  code_.start = static_cast<std::uint32_t>(code_.ops.size());
  expand(root);
  label_position_[instances_[root].end_label] = static_cast<std::uint32_t>(code_.ops.size());
  // Falling off the end is a return.
  ptx::Instruction end;
  end.opcode = "exit";
  end.ptx_line = entry_.ptx_line;
  code_.ops[append(end)].flow = Flow::exit;

  for (const LabelUse& use : label_uses_) {
    const std::uint32_t position = label_position_[use.label];
    if (use.in_list) {
      code_.lists[use.list_index] = position;
    } else {
      code_.ops[use.op].immediate = position;
    }
  }
  code_.local_bytes = static_cast<std::uint32_t>(align_up(local_bytes_, 16));
  for (std::size_t i = 0; i < code_.procedures.size(); ++i) {
    code_.procedures[i].frame_bytes = static_cast<std::uint32_t>(align_up(frame_bytes_[i], 16));
  }
  const std::vector<std::uint32_t> offsets = registers_.place(code_);
  if (frame_) code_.frame_register = offsets[*frame_];
  code_.constants.push_back({offsets[always_], Kind::predicate, 0xffffffffU, {}});
  for (const auto& [key, reg] : constants_) {
    code_.constants.push_back({offsets[reg], std::get<0>(key), std::get<1>(key), std::get<2>(key)});
  }
  for (const auto& [key, reg] : specials_) {
    code_.specials.push_back({offsets[reg], key.second, key.first});
  }
  return std::move(code_);
}

void EntryDecoder::lay_out_parameters() {
  std::uint64_t offset = 0;
  for (const ptx::Variable& parameter : entry_.parameters) {
    const Extent extent = extent_of(parameter);
    offset = align_up(offset, extent.alignment);
    if (offset + extent.bytes > 32764) {
      throw InputError(fmt::format("line {}: the parameters of '{}' exceed 32764 bytes",
                                   parameter.ptx_line, entry_.name));
    }
    code_.parameters.push_back({parameter.name, static_cast<std::uint32_t>(offset),
                                static_cast<std::uint32_t>(extent.bytes),
                                static_cast<std::uint32_t>(extent.alignment)});
    offset += extent.bytes;
  }
  code_.parameter_bytes = static_cast<std::uint32_t>(offset);
}

void EntryDecoder::lay_out_shared() {
  // Only what the entry can reach is laid out: a module's other kernels have their own.
  std::set<std::string> names;
  std::vector<const ptx::Variable*> variables;
  for (const ptx::Function* function : plan_.reached) {
    for (const ptx::Statement& statement : function->body) {
      if (const auto* text = std::get_if<ptx::Instruction>(&statement.item)) {
        for (const ptx::Operand& operand : text->operands) collect_names(operand, names);
      } else if (const auto* variable = std::get_if<ptx::Variable>(&statement.item)) {
        if (variable->space == ptx::StateSpace::shared) variables.push_back(variable);
      }
    }
  }
  for (const ptx::Variable& variable : layout_.module->variables) {
    if (variable.space == ptx::StateSpace::shared && names.contains(variable.name)) {
      variables.push_back(&variable);
    }
  }
  std::uint64_t offset = 0;
  std::uint64_t dynamic_alignment = 16;
  const auto is_dynamic = [](const ptx::Variable& v) {
    return v.is_extern || (!v.dimensions.empty() && v.dimensions.front() == 0);
  };
  for (const ptx::Variable* variable : variables) {
    const Extent extent = extent_of(*variable);
    if (is_dynamic(*variable)) {
      dynamic_alignment = std::max(dynamic_alignment, extent.alignment);
      continue;
    }
    offset = align_up(offset, extent.alignment);
    shared_offset_[variable] = offset;
    offset += extent.bytes;
    if (offset > kMostSharedBytes) {
      throw InputError(fmt::format("line {}: the shared variables of '{}' exceed {} bytes",
                                   variable->ptx_line, entry_.name, kMostSharedBytes));
    }
  }
  code_.static_shared_bytes = static_cast<std::uint32_t>(offset);
  code_.dynamic_shared_offset = static_cast<std::uint32_t>(align_up(offset, dynamic_alignment));
  for (const ptx::Variable* variable : variables) {
    if (is_dynamic(*variable)) shared_offset_[variable] = code_.dynamic_shared_offset;
  }
}

std::uint32_t EntryDecoder::new_label() {
  label_position_.push_back(0);
  return static_cast<std::uint32_t>(label_position_.size() - 1);
}

void EntryDecoder::declare_registers(Names& names, const ptx::RegisterDeclaration& declaration) {
  Entity entity;
  entity.kind = declaration.vector_width > 1 ? Kind::none : register_kind(declaration.type);
  entity.bytes = type_bytes(declaration.type).value_or(0);
  entity.count = declaration.count;
  const std::uint32_t count = declaration.count.value_or(1);
  if (count > kMostRegisters - std::min(registers_.count(), kMostRegisters)) {
    throw InputError(
        fmt::format("'{}' declares more than {} registers", entry_.name, kMostRegisters));
  }
  if (entity.kind != Kind::none) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const VirtualRegister reg = registers_.add(entity.kind);
      if (i == 0) entity.first = reg;
    }
  }
  // A family %r<12> is kept under its prefix with a mark that no name has.
  names[declaration.count ? declaration.name + "<" : declaration.name] = entity;
}

void EntryDecoder::declare_variable(std::uint32_t instance, Names& names,
                                    const ptx::Variable& variable) {
  Entity entity;
  entity.what = Entity::What::variable;
  switch (variable.space) {
    case ptx::StateSpace::shared:
      entity.space = Space::shared;
      entity.offset = shared_offset_[&variable];
      break;
    case ptx::StateSpace::reg: {
      entity.what = Entity::What::reg;
      entity.kind = register_kind(variable.type);
      entity.bytes = type_bytes(variable.type).value_or(0);
      entity.first = registers_.add(entity.kind);
      break;
    }
    case ptx::StateSpace::local:
    case ptx::StateSpace::param: {
      // A .param of a function body is a local variable of the thread.
      const Extent extent = extent_of(variable);
      entity = allocate_local(instance, extent.bytes, extent.alignment, variable.ptx_line);
      break;
    }
    case ptx::StateSpace::none:
    case ptx::StateSpace::sreg:
    case ptx::StateSpace::constant:
    case ptx::StateSpace::global:
      return;
  }
  names[variable.name] = entity;
}

void EntryDecoder::declare(std::uint32_t instance) {
  const ptx::Function& function = *instances_[instance].function;
  instances_[instance].scopes.resize(std::max<std::size_t>(function.scope_parent.size(), 1));
  if (function.is_entry) {
    for (const ParameterSlot& slot : code_.parameters) {
      Entity entity;
      entity.what = Entity::What::variable;
      entity.space = Space::parameter;
      entity.offset = slot.offset;
      instances_[instance].scopes[0][slot.name] = entity;
    }
  }
  for (const ptx::Statement& statement : function.body) {
    Names& names = instances_[instance].scopes.at(statement.scope);
    if (const auto* registers = std::get_if<ptx::RegisterDeclaration>(&statement.item)) {
      declare_registers(names, *registers);
    } else if (const auto* variable = std::get_if<ptx::Variable>(&statement.item)) {
      declare_variable(instance, names, *variable);
    } else if (const auto* label = std::get_if<ptx::Label>(&statement.item)) {
      Entity entity;
      entity.what = Entity::What::label;
      entity.label = new_label();
      names[label->name] = entity;
    } else if (const auto* targets = std::get_if<ptx::Targets>(&statement.item)) {
      instances_[instance].tables[targets->name] = targets;
    }
  }
}

const EntryDecoder::Entity* EntryDecoder::find(std::uint32_t instance, std::uint32_t scope,
                                               const std::string& name) const {
  const Instance& in = instances_[instance];
  for (std::uint32_t s = scope;; s = in.function->scope_parent[s]) {
    const auto found = in.scopes[s].find(name);
    if (found != in.scopes[s].end()) return &found->second;
    if (s == 0) break;
  }
  const auto variable = layout_.variables.find(name);
  if (variable == layout_.variables.end()) return nullptr;
  // Module variables are entered at their first use, into the outermost scope of the instance.
  Entity entity;
  entity.what = Entity::What::variable;
  switch (variable->second->space) {
    case ptx::StateSpace::shared: {
      const auto offset = shared_offset_.find(variable->second);
      if (offset == shared_offset_.end()) return nullptr;
      entity.space = Space::shared;
      entity.offset = offset->second;
      break;
    }
    case ptx::StateSpace::constant: {
      const auto offset = layout_.constant_offset.find(variable->second);
      if (offset == layout_.constant_offset.end()) return nullptr;
      entity.space = Space::constant;
      entity.offset = offset->second;
      break;
    }
    case ptx::StateSpace::global:
      if (variable->second->is_extern) return nullptr;
      entity.space = Space::global;
      entity.global = name;
      break;
    case ptx::StateSpace::none:
    case ptx::StateSpace::reg:
    case ptx::StateSpace::sreg:
    case ptx::StateSpace::local:
    case ptx::StateSpace::param:
      return nullptr;
  }
  return &module_entities_.emplace(name, entity).first->second;
}

std::optional<VirtualRegister> EntryDecoder::find_register(std::uint32_t instance,
                                                           std::uint32_t scope,
                                                           const std::string& name, Kind& kind,
                                                           std::uint32_t* bytes) const {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const bool numbered = digits < name.size() && name.size() - digits <= 9 &&
                        (name[digits] != '0' || name.size() - digits == 1);
  const std::string family = name.substr(0, digits) + "<";
  const Instance& in = instances_[instance];
  for (std::uint32_t s = scope;; s = in.function->scope_parent[s]) {
    auto found = in.scopes[s].find(name);
    std::uint32_t number = 0;
    if (found == in.scopes[s].end() && numbered) {
      found = in.scopes[s].find(family);
      number = static_cast<std::uint32_t>(std::stoul(name.substr(digits)));
    }
    if (found != in.scopes[s].end() && found->second.what == Entity::What::reg &&
        number < found->second.count.value_or(1)) {
      kind = found->second.kind;
      if (kind == Kind::none) return std::nullopt;
      if (bytes != nullptr) *bytes = found->second.bytes;
      return found->second.first + number;
    }
    if (s == 0) return std::nullopt;
  }
}

VirtualRegister EntryDecoder::constant(Kind kind, std::uint64_t value, const std::string& global) {
  const auto [entry, inserted] = constants_.try_emplace({kind, value, global}, 0);
  if (inserted) entry->second = registers_.add_pinned(kind);
  return entry->second;
}

bool EntryDecoder::in_clusters() const {
  return std::any_of(
      entry_.directives.begin(), entry_.directives.end(), [](const ptx::Directive& directive) {
        return directive.name == "reqnctapercluster" || directive.name == "explicitcluster";
      });
}

VirtualRegister EntryDecoder::special(const std::string& name, Kind kind) {
  const auto which = special_named(name, in_clusters());
  if (!which) throw Unsupported(fmt::format("special register {}", name));
  if (kind == Kind::predicate && *which != Special::zero) {
    throw Unsupported("a special register is no predicate");
  }
  const auto [entry, inserted] = specials_.try_emplace({*which, kind}, 0);
  if (inserted) entry->second = registers_.add_pinned(kind);
  return entry->second;
}

std::string EntryDecoder::file_name(std::uint32_t number) const {
  for (const ptx::File& file : layout_.module->files) {
    if (file.number == number) return file.name;
  }
  return {};
}

std::string EntryDecoder::text_of(const ptx::Instruction& text) const {
  std::string result;
  const SourceText& source = layout_.text_with(text.ptx_line);
  for (std::size_t line = text.ptx_line - source.first_line;
       line >= 1 && line <= source.lines.size(); ++line) {
    std::string_view part = source.lines[line - 1];
    const std::size_t begin = part.find_first_not_of(" \t\r");
    if (begin != std::string_view::npos) part.remove_prefix(begin);
    const std::size_t end = part.find(';');
    if (!result.empty()) result += ' ';
    result += part.substr(0, end);
    if (end != std::string_view::npos || result.size() > 300) break;
  }
  return result;
}

std::uint32_t EntryDecoder::append(const ptx::Instruction& text) {
  if (code_.ops.size() >= kMostOps) {
    throw InputError(
        fmt::format("'{}' expands to more than {} instructions", entry_.name, kMostOps));
  }
  code_.ops.emplace_back();
  const std::uint32_t line = text.ptx_line - layout_.text_with(text.ptx_line).first_line;
  code_.debug.push_back(
      {text_of(text), file_name(text.source.file), text.source.line, line, {}, mnemonic_of(text)});
  return static_cast<std::uint32_t>(code_.ops.size() - 1);
}

void EntryDecoder::emit_unsupported(std::uint32_t instance, std::uint32_t scope,
                                    const ptx::Instruction& text, const std::string& why) {
  const std::uint32_t index = append(text);
  code_.ops[index].flow = Flow::unsupported;
  code_.debug[index].unsupported = why;
  Kind kind = Kind::none;
  if (text.guard && find_register(instance, scope, *text.guard, kind) && kind == Kind::predicate) {
    set_guard(instance, scope, text, index, false);
  }
}

void EntryDecoder::set_guard(std::uint32_t instance, std::uint32_t scope,
                             const ptx::Instruction& text, std::uint32_t op_index, bool inverted) {
  if (!text.guard) return;
  Kind kind = Kind::none;
  const auto reg = find_register(instance, scope, *text.guard, kind);
  if (!reg || kind != Kind::predicate) {
    throw Unsupported(fmt::format("the guard '{}' is no declared predicate", *text.guard));
  }
  code_.ops[op_index].guarded = true;
  code_.ops[op_index].guard_flip = text.guard_negated != inverted ? 0xffffffffU : 0U;
  registers_.refer(op_index, &Op::guard, *reg, RegisterUse::Role::use);
}

void EntryDecoder::decode_plain(InstructionBuilder& builder, const std::string& mnemonic) {
  const DecodeTable::Row* row = DecodeTable::instance().find(mnemonic, builder.text.opcode);
  if (row == nullptr) throw Unsupported("the machine does not implement it");
  if (!row->unsupported.empty()) throw Unsupported(std::string(row->unsupported));
  builder.op.full = row->full;
  builder.op.masked = row->masked;
  builder.op.immediate = row->immediate;
  if (row->decoder != nullptr) {
    row->decoder(builder);
    return;
  }
  if (builder.count() != row->operands.size()) {
    throw Unsupported(
        fmt::format("{} operands where {} are expected", builder.count(), row->operands.size()));
  }
  static constexpr std::array<InstructionBuilder::Field, 4> kSources{&Op::a, &Op::b, &Op::c,
                                                                     &Op::e};
  const Immediates immediates = row->type == "f32"   ? Immediates::f32
                                : row->type == "f64" ? Immediates::f64
                                                     : Immediates::integer;
  for (std::size_t i = 0; i < row->operands.size(); ++i) {
    if (i < row->destinations) {
      builder.define(i == 0 ? &Op::d : &Op::e, builder.operand(i), row->operands[i]);
    } else {
      const std::size_t source = i - row->destinations;
      // slct: 64-bit operands beside an f32; their literals are bits already.
      const bool wide = immediates == Immediates::f32 && row->operands[i] == Kind::b64;
      builder.use(kSources.at(source), builder.operand(i), row->operands[i],
                  wide ? Immediates::integer : immediates, static_cast<int>(source));
    }
  }
}

void EntryDecoder::emit(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text) {
  if (text.opcode == "call") {
    emit_call(instance, scope, text);
  } else if (text.opcode == "ret") {
    emit_return(instance, scope, text);
  } else {
    prepare_frame_addresses(instance, scope, text);
    emit_plain(instance, scope, text);
  }
}

void EntryDecoder::emit_plain(std::uint32_t instance, std::uint32_t scope,
                              const ptx::Instruction& text) {
  const std::size_t references = registers_.reference_count();
  const std::size_t label_uses = label_uses_.size();
  const std::uint32_t index = append(text);
  try {
    set_guard(instance, scope, text, index, false);
    InstructionBuilder builder(*this, text, instance, scope, code_.ops[index], index);
    decode_plain(builder, mnemonic_of(text));
  } catch (const Unsupported& why) {
    // It stops the run when reached, not before; its guard still says whether it is.
    registers_.forget_from(references);
    label_uses_.resize(label_uses);
    code_.ops.pop_back();
    code_.debug.pop_back();
    emit_unsupported(instance, scope, text, why.what());
  }
}

void EntryDecoder::expand(std::uint32_t instance) {
  const ptx::Function& function = *instances_[instance].function;
  for (const ptx::Statement& statement : function.body) {
    if (const auto* text = std::get_if<ptx::Instruction>(&statement.item)) {
      emit(instance, statement.scope, *text);
    } else if (const auto* label = std::get_if<ptx::Label>(&statement.item)) {
      const Entity& entity = instances_[instance].scopes[statement.scope].at(label->name);
      label_position_[entity.label] = static_cast<std::uint32_t>(code_.ops.size());
    }
  }
}

}  // namespace bitgate::machine
