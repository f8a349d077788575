#include "reference/machine/ptx/reach.h"

#include <fmt/format.h>

#include <set>
#include <variant>

#include "reference/support/error.h"

namespace bitgate::machine::ptx {

ModuleNames::ModuleNames(const Module& module) {
  for (std::uint32_t i = 0; i < module.variables.size(); ++i) {
    names_.try_emplace(module.variables[i].name, Meaning{Meaning::Kind::variable, i});
  }
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    const auto [found, is_new] =
        names_.try_emplace(module.functions[i].name, Meaning{Meaning::Kind::function, i});
    if (!is_new && module.functions[i].has_body) found->second = {Meaning::Kind::function, i};
  }
  for (std::uint32_t i = 0; i < module.aliases.size(); ++i) {
    names_.insert_or_assign(module.aliases[i].name, Meaning{Meaning::Kind::alias, i});
  }
}

ModuleNames::Meaning ModuleNames::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? Meaning{} : found->second;
}

namespace {

void visit_operand(const Operand& operand, std::uint32_t scope,
                   const std::function<void(std::uint32_t, std::string_view)>& visit) {
  const bool names_symbol =
      operand.kind == Operand::Kind::symbol || (operand.kind == Operand::Kind::address &&
                                                !operand.base_is_register && !operand.name.empty());
  if (names_symbol) visit(scope, operand.name);
  for (const Operand& element : operand.elements) visit_operand(element, scope, visit);
}

class Walk {
 public:
  explicit Walk(const Module& module) : module_(module), names_(module) {}

  Reach from(std::string_view entry) {
    const ModuleNames::Meaning start = names_.find(entry);
    if (start.kind != ModuleNames::Meaning::Kind::function ||
        !module_.functions[start.index].is_entry) {
      std::string entries;
      for (const Function& function : module_.functions) {
        if (!function.is_entry) continue;
        if (!entries.empty()) entries += ", ";
        entries += function.name;
      }
      throw InputError(fmt::format("expected an entry of the module ({}), found '{}'",
                                   entries.empty() ? "it has none" : entries, entry));
    }
    add(entry);
    // The lists grow while they are walked.
    std::size_t variables_done = 0;
    for (std::size_t i = 0; i < reach_.functions.size(); ++i) {
      add_symbols(module_.functions[reach_.functions[i]]);
      for (; variables_done < reach_.variables.size(); ++variables_done) {
        for (const auto& relocation :
             module_.variables[reach_.variables[variables_done]].relocations) {
          add(relocation.symbol);
        }
      }
    }
    return std::move(reach_);
  }

 private:
  void add(std::string_view name) {
    using Kind = ModuleNames::Meaning::Kind;
    for (;;) {
      const ModuleNames::Meaning meaning = names_.find(name);
      if (meaning.kind == Kind::unknown) return;
      if (!seen_.insert({meaning.kind, meaning.index}).second) return;
      if (meaning.kind == Kind::function) {
        reach_.functions.push_back(meaning.index);
        return;
      }
      if (meaning.kind == Kind::variable) {
        reach_.variables.push_back(meaning.index);
        return;
      }
      reach_.aliases.push_back(meaning.index);
      name = module_.aliases[meaning.index].target;
    }
  }

  void add_symbols(const Function& function) {
    const Names names(function);
    for_each_symbol(function, [&](std::uint32_t scope, std::string_view name) {
      if (names.find(scope, name).kind == Names::Meaning::Kind::unknown) add(name);
    });
    for (const Statement& statement : function.body) {
      if (const auto* variable = std::get_if<Variable>(&statement.item)) {
        for (const auto& relocation : variable->relocations) add(relocation.symbol);
      }
    }
  }

  const Module& module_;
  ModuleNames names_;
  Reach reach_;
  std::set<std::pair<ModuleNames::Meaning::Kind, std::uint32_t>> seen_;
};

}  // namespace

void for_each_symbol(const Function& function,
                     const std::function<void(std::uint32_t, std::string_view)>& visit) {
  for (const Statement& statement : function.body) {
    if (const auto* instruction = std::get_if<Instruction>(&statement.item)) {
      for (const Operand& operand : instruction->operands) {
        visit_operand(operand, statement.scope, visit);
      }
    } else if (const auto* targets = std::get_if<Targets>(&statement.item)) {
      for (const std::string& target : targets->targets) visit(statement.scope, target);
    }
  }
}

Reach reach(const Module& module, std::string_view entry) { return Walk(module).from(entry); }

}  // namespace bitgate::machine::ptx
