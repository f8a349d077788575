#include "reference/machine/ptx/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reference/machine/ptx/names.h"
#include "reference/support/error.h"

namespace bitgate::machine::ptx {

namespace {

using Renames = std::map<std::string, std::string, std::less<>>;

void rename(const Renames& renames, std::string& name) {
  const auto found = renames.find(name);
  if (found != renames.end()) name = found->second;
}

void rename_operand(const Renames& renames, const Names& names, std::uint32_t scope,
                    Operand& operand) {
  const bool may_be_symbol = operand.kind == Operand::Kind::symbol ||
                             (operand.kind == Operand::Kind::address && !operand.base_is_register);
  if (may_be_symbol && names.find(scope, operand.name).kind == Names::Meaning::Kind::unknown) {
    rename(renames, operand.name);
  }
  for (Operand& element : operand.elements) rename_operand(renames, names, scope, element);
}

void move_variable(Variable& variable, const Renames& renames, std::uint32_t lines) {
  variable.ptx_line += lines;
  for (Variable::Relocation& relocation : variable.relocations) {
    rename(renames, relocation.symbol);
  }
}

/// Line and file numbers, and the names of the module that the code uses.
void move_function(Function& function, const Renames& renames, std::uint32_t lines,
                   std::uint32_t files) {
  const Names names(function);
  function.ptx_line += lines;
  for (Variable& v : function.parameters) v.ptx_line += lines;
  for (Variable& v : function.returns) v.ptx_line += lines;
  for (Statement& statement : function.body) {
    if (auto* instruction = std::get_if<Instruction>(&statement.item)) {
      instruction->ptx_line += lines;
      if (instruction->source.line != 0) instruction->source.file += files;
      for (Operand& operand : instruction->operands) {
        rename_operand(renames, names, statement.scope, operand);
      }
    } else if (auto* variable = std::get_if<Variable>(&statement.item)) {
      move_variable(*variable, renames, lines);
    } else if (auto* targets = std::get_if<Targets>(&statement.item)) {
      if (targets->directive != "calltargets") continue;
      for (std::string& target : targets->targets) rename(renames, target);
    }
  }
  rename(renames, function.name);
}

template <class Item>
bool is_shared(const Item& item) {
  return item.is_extern || item.is_visible || item.is_weak;
}

/// Names that a module defines for itself alone.
std::set<std::string> own_names(const Module& module) {
  std::set<std::string> own;
  std::set<std::string> shared;
  for (const Function& f : module.functions) {
    (is_shared(f) || f.is_entry ? shared : own).insert(f.name);
  }
  for (const Variable& v : module.variables) {
    (is_shared(v) || v.is_common ? shared : own).insert(v.name);
  }
  std::erase_if(own, [&](const std::string& name) { return shared.contains(name); });
  return own;
}

std::set<std::string> all_names(const Module& module) {
  std::set<std::string> names;
  for (const Function& f : module.functions) names.insert(f.name);
  for (const Variable& v : module.variables) names.insert(v.name);
  return names;
}

/// Keeps one of several definitions of a name; drops declarations of what is defined.
template <class Item, class Defines>
void resolve(std::vector<Item>& items, Defines&& defines) {
  std::map<std::string, std::size_t> chosen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto [entry, inserted] = chosen.try_emplace(items[i].name, i);
    if (inserted || !defines(items[i])) continue;
    Item& before = items[entry->second];
    const auto yields = [](const Item& item) {
      if constexpr (requires { item.is_common; }) {
        if (item.is_common) return true;
      }
      return item.is_weak;
    };
    if (!defines(before) || (yields(before) && !yields(items[i]))) {
      entry->second = i;
    } else if (!yields(before) && !yields(items[i])) {
      throw InputError(fmt::format("'{}' is defined twice, in PTX lines {} and {} of all modules",
                                   items[i].name, before.ptx_line, items[i].ptx_line));
    }
  }
  std::vector<Item> kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (chosen.at(items[i].name) == i) kept.push_back(std::move(items[i]));
  }
  items = std::move(kept);
}

}  // namespace

Module link(std::vector<LinkInput> inputs) {
  if (inputs.empty()) throw InputError("no module to link");
  std::map<std::string, std::size_t> modules_with;
  for (const LinkInput& input : inputs) {
    for (const std::string& name : all_names(input.module)) ++modules_with[name];
  }
  Module result = inputs[0].module;
  result.files.clear();
  result.variables.clear();
  result.functions.clear();
  result.aliases.clear();
  std::uint32_t files = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Module& module = inputs[i].module;
    if (module.address_size != result.address_size) {
      throw InputError(fmt::format("{}: .address_size {} where the others have {}", inputs[i].name,
                                   module.address_size, result.address_size));
    }
    Renames renames;
    for (const std::string& name : own_names(module)) {
      if (modules_with[name] > 1) renames[name] = fmt::format("{}$module{}", name, i);
    }
    for (Function& function : module.functions) {
      move_function(function, renames, inputs[i].first_line, files);
      result.functions.push_back(std::move(function));
    }
    for (Variable& variable : module.variables) {
      move_variable(variable, renames, inputs[i].first_line);
      rename(renames, variable.name);
      result.variables.push_back(std::move(variable));
    }
    for (Alias& alias : module.aliases) {
      rename(renames, alias.target);
      result.aliases.push_back(std::move(alias));
    }
    std::uint32_t most = files;
    for (File& file : module.files) {
      file.number += files;
      most = std::max(most, file.number);
      result.files.push_back(std::move(file));
    }
    files = most;
  }
  resolve(result.functions, [](const Function& f) { return f.has_body; });
  resolve(result.variables, [](const Variable& v) { return !v.is_extern; });
  return result;
}

}  // namespace bitgate::machine::ptx
