#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "reference/machine/exec/lanes.h"
#include "reference/machine/exec/system_calls.h"
#include "reference/machine/program/entry_decoder.h"
#include "reference/machine/program/layout.h"
#include "reference/support/error.h"

// How calls are decoded: functions expanded in place, procedures, calls through registers, and
// calls of the system (vprintf and the like). Whatever is passed is a `.param` variable of the
// caller, which is a local one: where a register or an immediate stands for it, a hidden variable
// is stored and loaded by instructions that are made up here.

namespace bitgate::machine {

namespace {

constexpr std::uint64_t kMostLocalBytes = 512 * 1024;  // CUDA's own limit

/// Offset and bytes of each formal in a frame, and what they take together.
struct FormalLayout {
  std::vector<std::uint32_t> places;
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 16;
};

FormalLayout lay_out_signature(const std::vector<ptx::Variable>& parameters,
                               const std::vector<ptx::Variable>& returns) {
  FormalLayout result;
  for (const auto* formals : {&parameters, &returns}) {
    for (const ptx::Variable& formal : *formals) {
      const Extent extent = extent_of(formal);
      result.bytes = align_up(result.bytes, extent.alignment);
      result.alignment = std::max(result.alignment, extent.alignment);
      result.places.push_back(static_cast<std::uint32_t>(result.bytes));
      result.places.push_back(static_cast<std::uint32_t>(extent.bytes));
      result.bytes += extent.bytes;
      if (result.bytes > kMostLocalBytes) {
        throw InputError(fmt::format("line {}: the parameters of a function exceed {} bytes",
                                     formal.ptx_line, kMostLocalBytes));
      }
    }
  }
  return result;
}

ptx::Operand named_operand(ptx::Operand::Kind kind, const std::string& name) {
  ptx::Operand operand;
  operand.kind = kind;
  operand.name = name;
  return operand;
}

/// ld.param.type value, [variable] or st.param.type [variable], value; placed where `like` is.
ptx::Instruction access(const ptx::Instruction& like, const char* opcode, const std::string& type,
                        const std::string& variable, const ptx::Operand& value) {
  ptx::Instruction result;
  result.opcode = opcode;
  result.modifiers = {"param", type};
  const ptx::Operand address = named_operand(ptx::Operand::Kind::address, variable);
  if (result.opcode == "ld") {
    result.operands = {value, address};
  } else {
    result.operands = {address, value};
  }
  result.ptx_line = like.ptx_line;
  result.source = like.source;
  return result;
}

const std::string& scalar_type(const ptx::Variable& formal) {
  if (!formal.dimensions.empty() || formal.vector_width > 1 || !type_bytes(formal.type)) {
    throw Unsupported(fmt::format("a register passed for '{}', which is no number", formal.name));
  }
  return formal.type;
}

std::string in_of(const std::string& formal) { return formal + "$in"; }
std::string out_of(const std::string& formal) { return formal + "$out"; }

bool in_register(const ptx::Variable& formal) { return formal.space == ptx::StateSpace::reg; }

}  // namespace

EntryDecoder::Entity EntryDecoder::allocate_local(std::uint32_t instance, std::uint64_t bytes,
                                                  std::uint64_t alignment, std::uint32_t line) {
  const auto& procedure = instances_[instance].procedure;
  std::uint64_t& used = procedure ? frame_bytes_[*procedure] : local_bytes_;
  Entity entity;
  entity.what = Entity::What::variable;
  entity.space = Space::local;
  entity.in_frame = procedure.has_value();
  entity.offset = align_up(used, alignment);
  entity.extent = bytes;
  used = entity.offset + bytes;
  if (used > kMostLocalBytes) {
    throw InputError(
        fmt::format("line {}: local variables exceed {} bytes a thread", line, kMostLocalBytes));
  }
  if (procedure) {
    std::uint32_t& most = code_.procedures[*procedure].frame_alignment;
    most = std::max(most, static_cast<std::uint32_t>(alignment));
  }
  return entity;
}

void EntryDecoder::declare_procedures() {
  for (const ptx::Function* function : plan_.procedures) {
    const auto number = static_cast<std::uint32_t>(code_.procedures.size());
    const FormalLayout signature = lay_out_signature(function->parameters, function->returns);
    Procedure& procedure = code_.procedures.emplace_back();
    procedure.name = function->name;
    procedure.frame_alignment = static_cast<std::uint32_t>(signature.alignment);
    procedure.signature = signature.places;
    frame_bytes_.push_back(signature.bytes);
    procedure_number_[function] = number;
    const auto address = program_.function_address.find(function->name);
    if (address != program_.function_address.end()) {
      code_.procedure_at[address->second] = number;
    }
  }
  if (!plan_.procedures.empty()) frame_ = registers_.add_pinned(Kind::b64);
  if (!plan_.procedures.empty() || plan_.uses_stack) code_.stack_bytes = kStackBytes;
}

void EntryDecoder::decode_procedure(std::uint32_t number) {
  const ptx::Function& function = *plan_.procedures[number];
  const auto instance = static_cast<std::uint32_t>(instances_.size());
  Instance& made = instances_.emplace_back();
  made.function = &function;
  made.returns = Return::from_procedure;
  made.procedure = number;
  made.end_label = new_label();
  declare(instance);
  const std::vector<std::uint32_t>& places = code_.procedures[number].signature;
  std::vector<Entity> formals(places.size() / 2);
  for (std::size_t i = 0; i < formals.size(); ++i) {
    formals[i].what = Entity::What::variable;
    formals[i].space = Space::local;
    formals[i].in_frame = true;
    formals[i].offset = places[2 * i];
    formals[i].extent = places[2 * i + 1];
  }
  const auto middle = formals.begin() + static_cast<std::ptrdiff_t>(function.parameters.size());
  bind_formals(instance, function.parameters, {formals.begin(), middle}, false);
  bind_formals(instance, function.returns, {middle, formals.end()}, true);

  code_.procedures[number].entry = static_cast<std::uint32_t>(code_.ops.size());
  ptx::Instruction end;
  end.opcode = "ret";
  end.ptx_line = function.ptx_line;
  load_register_formals(instance, end);
  expand(instance);
  label_position_[instances_[instance].end_label] = static_cast<std::uint32_t>(code_.ops.size());
  code_.ops[append(end)].flow = Flow::ret;
}

void EntryDecoder::bind_formals(std::uint32_t number, const std::vector<ptx::Variable>& formals,
                                const std::vector<Entity>& actuals, bool is_result) {
  Names& names = instances_[number].scopes[0];
  for (std::size_t i = 0; i < formals.size(); ++i) {
    const ptx::Variable& formal = formals[i];
    if (!in_register(formal)) {
      names[formal.name] = actuals[i];
      continue;
    }
    names[is_result ? out_of(formal.name) : in_of(formal.name)] = actuals[i];
    ptx::RegisterDeclaration declaration;
    declaration.type = formal.type;
    declaration.name = formal.name;
    declare_registers(names, declaration);
  }
}

void EntryDecoder::load_register_formals(std::uint32_t number, const ptx::Instruction& text) {
  for (const ptx::Variable& formal : instances_[number].function->parameters) {
    if (!in_register(formal)) continue;
    emit_plain(number, 0,
               access(text, "ld", scalar_type(formal), in_of(formal.name),
                      named_operand(ptx::Operand::Kind::reg, formal.name)));
  }
}

void EntryDecoder::store_register_results(std::uint32_t number, std::uint32_t scope,
                                          const ptx::Instruction& text) {
  for (const ptx::Variable& formal : instances_[number].function->returns) {
    if (!in_register(formal)) continue;
    ptx::Instruction store = access(text, "st", scalar_type(formal), out_of(formal.name),
                                    named_operand(ptx::Operand::Kind::reg, formal.name));
    store.guard = text.guard;
    store.guard_negated = text.guard_negated;
    emit_plain(number, scope, store);
  }
}

void EntryDecoder::emit_return(std::uint32_t instance, std::uint32_t scope,
                               const ptx::Instruction& text) {
  if (instances_[instance].returns == Return::from_entry) {
    emit_plain(instance, scope, text);
    return;
  }
  store_register_results(instance, scope, text);
  const std::uint32_t index = append(text);
  try {
    set_guard(instance, scope, text, index, false);
  } catch (const Unsupported& why) {
    code_.ops[index].flow = Flow::unsupported;
    code_.debug[index].unsupported = why.what();
    return;
  }
  if (instances_[instance].returns == Return::from_procedure) {
    code_.ops[index].flow = Flow::ret;
  } else {
    code_.ops[index].flow = Flow::branch;
    label_uses_.push_back({index, false, 0, instances_[instance].end_label});
  }
}

std::vector<EntryDecoder::Entity> EntryDecoder::passed(std::uint32_t instance, std::uint32_t scope,
                                                       const ptx::Instruction& text,
                                                       const ptx::Operand* list,
                                                       const std::vector<ptx::Variable>& formals,
                                                       bool is_result) {
  const std::size_t given = list == nullptr ? 0 : list->elements.size();
  if (given != formals.size()) {
    throw Unsupported(fmt::format("the call passes {} {} where {} are expected", given,
                                  is_result ? "results" : "arguments", formals.size()));
  }
  std::vector<Entity> result;
  for (std::size_t i = 0; i < given; ++i) {
    const ptx::Operand& actual = list->elements[i];
    const Extent extent = extent_of(formals[i]);
    if (actual.kind == ptx::Operand::Kind::symbol) {
      const Entity* entity = find(instance, scope, actual.name);
      if (entity == nullptr || entity->what != Entity::What::variable ||
          entity->space != Space::local) {
        throw Unsupported(fmt::format("the argument '{}' is no .param variable", actual.name));
      }
      if (entity->extent < extent.bytes) {
        throw Unsupported(fmt::format("the argument '{}' has {} bytes where {} are expected",
                                      actual.name, entity->extent, extent.bytes));
      }
      result.push_back(*entity);
    } else {
      const std::string hidden = fmt::format("$passed{}", hidden_++);
      result.push_back(allocate_local(instance, extent.bytes, extent.alignment, text.ptx_line));
      instances_[instance].scopes[0][hidden] = result.back();
      const std::string& type = scalar_type(formals[i]);
      if (is_result) {
        ptx::Instruction load = access(text, "ld", type, hidden, actual);
        load.guard = text.guard;
        load.guard_negated = text.guard_negated;
        after_call_.push_back(std::move(load));
      } else {
        emit_plain(instance, scope, access(text, "st", type, hidden, actual));
      }
    }
  }
  return result;
}

void EntryDecoder::emit_call(std::uint32_t instance, std::uint32_t scope,
                             const ptx::Instruction& text) {
  after_call_.clear();
  try {
    const ptx::Operand* target = call_operands(text).target;
    if (target == nullptr) throw Unsupported("a call without a function");
    if (target->kind == ptx::Operand::Kind::reg) {
      call_procedure(instance, scope, text, std::nullopt);
    } else if (const ptx::Function* callee = layout_.function(target->name)) {
      if (callee->is_entry) throw Unsupported("a call of an entry");
      const auto procedure = procedure_number_.find(callee);
      if (procedure != procedure_number_.end()) {
        call_procedure(instance, scope, text, procedure->second);
      } else {
        expand_call(instance, scope, text, *callee);
      }
    } else if (const SystemCall* system = find_system_call(target->name)) {
      call_system(instance, scope, text, *system);
    } else {
      throw Unsupported(fmt::format("the function '{}' has no body in this module", target->name));
    }
  } catch (const Unsupported& why) {
    emit_unsupported(instance, scope, text, why.what());
    return;
  }
  const std::vector<ptx::Instruction> loads = std::exchange(after_call_, {});
  for (const ptx::Instruction& load : loads) emit_plain(instance, scope, load);
}

void EntryDecoder::expand_call(std::uint32_t instance, std::uint32_t scope,
                               const ptx::Instruction& text, const ptx::Function& callee) {
  const CallOperands operands = call_operands(text);
  const auto results = passed(instance, scope, text, operands.returns, callee.returns, true);
  const auto arguments =
      passed(instance, scope, text, operands.arguments, callee.parameters, false);
  std::vector<ptx::Instruction> loads = std::exchange(after_call_, {});
  const auto number = static_cast<std::uint32_t>(instances_.size());
  Instance& made = instances_.emplace_back();
  made.function = &callee;
  made.returns = Return::to_end_label;
  made.procedure = instances_[instance].procedure;
  made.end_label = new_label();
  declare(number);
  // A parameter is the caller's own variable under the callee's name.
  bind_formals(number, callee.returns, results, true);
  bind_formals(number, callee.parameters, arguments, false);
  if (text.guard) {
    const std::uint32_t index = append(text);
    code_.ops[index].flow = Flow::branch;
    label_uses_.push_back({index, false, 0, instances_[number].end_label});
    set_guard(instance, scope, text, index, true);
  }
  ptx::Instruction unguarded = text;
  unguarded.guard.reset();
  load_register_formals(number, unguarded);
  expand(number);
  store_register_results(number, 0, unguarded);
  label_position_[instances_[number].end_label] = static_cast<std::uint32_t>(code_.ops.size());
  after_call_ = std::move(loads);
}

void EntryDecoder::call_procedure(std::uint32_t instance, std::uint32_t scope,
                                  const ptx::Instruction& text,
                                  std::optional<std::uint32_t> procedure) {
  const CallOperands operands = call_operands(text);
  const std::vector<ptx::Variable>* parameters = nullptr;
  const std::vector<ptx::Variable>* returns = nullptr;
  if (procedure) {
    const ptx::Function& callee = *plan_.procedures[*procedure];
    parameters = &callee.parameters;
    returns = &callee.returns;
  } else {
    // The prototype stands behind a label, or is that of any function in a list of targets.
    const std::string name = operands.prototype == nullptr ? "" : operands.prototype->name;
    const auto& tables = instances_[instance].tables;
    const auto found = tables.find(name);
    if (found == tables.end()) throw Unsupported("a call through a register without a prototype");
    parameters = &found->second->parameters;
    returns = &found->second->returns;
    if (found->second->directive == "calltargets") {
      const ptx::Function* first =
          found->second->targets.empty() ? nullptr : layout_.function(found->second->targets[0]);
      if (first == nullptr) throw Unsupported(fmt::format("'{}' names no function", name));
      parameters = &first->parameters;
      returns = &first->returns;
    } else if (found->second->directive != "callprototype") {
      throw Unsupported(fmt::format("'{}' is no prototype", name));
    }
    Kind kind = Kind::none;
    if (!find_register(instance, scope, operands.target->name, kind) || kind != Kind::b64) {
      throw Unsupported(fmt::format("'{}' holds no address of a function", operands.target->name));
    }
    if (!frame_)
      throw Unsupported("a call through a register, and no function has its address taken");
  }
  const FormalLayout signature = lay_out_signature(*parameters, *returns);
  const auto results = passed(instance, scope, text, operands.returns, *returns, true);
  const auto arguments = passed(instance, scope, text, operands.arguments, *parameters, false);
  CallSite site;
  site.procedure = procedure.value_or(CallSite::kIndirect);
  site.caller_has_frame = instances_[instance].procedure.has_value();
  site.signature = signature.places;
  const auto copies = [&](const std::vector<Entity>& actuals, std::size_t first,
                          std::vector<CallSite::Copy>& out) {
    for (std::size_t i = 0; i < actuals.size(); ++i) {
      out.push_back({static_cast<std::uint32_t>(actuals[i].offset),
                     signature.places[2 * (first + i)], signature.places[2 * (first + i) + 1]});
    }
  };
  copies(arguments, 0, site.arguments);
  copies(results, arguments.size(), site.results);

  const std::uint32_t index = append(text);
  code_.ops[index].immediate = static_cast<std::int64_t>(code_.calls.size());
  code_.calls.push_back(std::move(site));
  set_guard(instance, scope, text, index, false);
  if (!procedure) {
    InstructionBuilder builder(*this, text, instance, scope, code_.ops[index], index);
    builder.use(&Op::a, *operands.target, Kind::b64);
  }
  code_.ops[index].flow = Flow::call;
}

void EntryDecoder::call_system(std::uint32_t instance, std::uint32_t scope,
                               const ptx::Instruction& text, const SystemCall& call) {
  const CallOperands operands = call_operands(text);
  // Formals as the system has them.
  const auto formal = [](Kind kind) {
    ptx::Variable variable;
    variable.space = ptx::StateSpace::param;
    variable.type = kind == Kind::b64 ? "b64" : "b32";
    return variable;
  };
  std::vector<ptx::Variable> parameters;
  for (const Kind kind : call.parameters) parameters.push_back(formal(kind));
  std::vector<ptx::Variable> returns;
  if (call.result != Kind::none) returns.push_back(formal(call.result));
  const auto results = passed(instance, scope, text, operands.returns, returns, true);
  const auto arguments = passed(instance, scope, text, operands.arguments, parameters, false);
  if (arguments.size() > 5) throw Unsupported("a system call with more than five arguments");

  const auto in_register_of = [&](Kind kind) {
    ptx::RegisterDeclaration declaration;
    declaration.type = kind == Kind::b64 ? "b64" : "b32";
    declaration.name = fmt::format("$register{}", hidden_++);
    declare_registers(instances_[instance].scopes[0], declaration);
    return named_operand(ptx::Operand::Kind::reg, declaration.name);
  };
  const auto variable_of = [&](const Entity& entity) {
    const std::string name = fmt::format("$variable{}", hidden_++);
    instances_[instance].scopes[0][name] = entity;
    return name;
  };
  // The sources are Op::a, b, c, e and, of a fifth argument, Op::list.
  std::vector<ptx::Operand> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values.push_back(in_register_of(call.parameters[i]));
    emit_plain(instance, scope,
               access(text, "ld", parameters[i].type, variable_of(arguments[i]), values.back()));
  }
  const std::uint32_t index = append(text);
  set_guard(instance, scope, text, index, false);
  if (call.communicates) code_.communicates = true;
  InstructionBuilder builder(*this, text, instance, scope, code_.ops[index], index);
  static constexpr std::array<InstructionBuilder::Field, 4> kFields{&Op::a, &Op::b, &Op::c, &Op::e};
  for (std::size_t i = 0; i < std::min(values.size(), kFields.size()); ++i) {
    builder.use(kFields.at(i), values[i], call.parameters[i]);
  }
  builder.op.full = call.handler;
  builder.op.masked = call.handler;
  if (call.result == Kind::none) return;
  const ptx::Operand result = in_register_of(call.result);
  builder.define(&Op::d, result, call.result);
  ptx::Instruction store = access(text, "st", returns[0].type, variable_of(results[0]), result);
  store.guard = text.guard;
  store.guard_negated = text.guard_negated;
  emit_plain(instance, scope, store);
}

namespace {

/// Calls visit for each symbol among the operands.
template <class Visit>
void each_symbol(const ptx::Operand& operand, Visit&& visit) {
  if (operand.kind == ptx::Operand::Kind::symbol) visit(operand);
  for (const ptx::Operand& element : operand.elements) each_symbol(element, visit);
}

void add_to_frame(Context& x, const Op& op) {
  const std::uint64_t* frame = x.lanes64(op.a);
  each_lane(x.active, [&](std::size_t lane) {
    const std::uint64_t value = frame[lane] + static_cast<std::uint64_t>(op.immediate);
    if (op.extra != 0) {
      x.lanes64(op.d)[lane] = value;
    } else {
      x.lanes32(op.d)[lane] = static_cast<std::uint32_t>(value);
    }
  });
}

}  // namespace

void EntryDecoder::prepare_frame_addresses(std::uint32_t instance, std::uint32_t scope,
                                           const ptx::Instruction& text) {
  frame_addresses_.clear();
  if (!instances_[instance].procedure || text.opcode == "bra" || text.opcode == "brx") return;
  const auto prepare = [&](const ptx::Operand& operand) {
    const Entity* entity = find(instance, scope, operand.name);
    if (entity == nullptr || entity->what != Entity::What::variable || !entity->in_frame) return;
    const std::uint64_t offset = entity->offset + static_cast<std::uint64_t>(operand.offset);
    for (const Kind kind : {Kind::b64, Kind::b32}) {
      const std::uint32_t index = append(text);
      code_.debug[index].mnemonic = "add.u64";
      Op& op = code_.ops[index];
      op.full = &add_to_frame;
      op.masked = &add_to_frame;
      op.immediate = static_cast<std::int64_t>(offset);
      op.extra = kind == Kind::b64 ? 1 : 0;
      const VirtualRegister address = registers_.add(kind);
      registers_.refer(index, &Op::a, *frame_, RegisterUse::Role::use);
      registers_.refer(index, &Op::d, address, RegisterUse::Role::definition);
      frame_addresses_[{fmt::format("{}+{}", operand.name, operand.offset), kind}] = address;
      const bool narrow = !text.modifiers.empty() && text.modifiers.back().ends_with("32");
      if (!narrow) break;
    }
  };
  for (const ptx::Operand& operand : text.operands) each_symbol(operand, prepare);
}

std::optional<VirtualRegister> EntryDecoder::frame_address(const ptx::Operand& operand,
                                                           Kind kind) const {
  const auto found =
      frame_addresses_.find({fmt::format("{}+{}", operand.name, operand.offset), kind});
  if (found == frame_addresses_.end()) return std::nullopt;
  return found->second;
}

}  // namespace bitgate::machine
