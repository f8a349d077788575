#include "reference/machine/ptx/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "reference/machine/ptx/names.h"
#include "reference/machine/ptx/print.h"
#include "reference/machine/ptx/reach.h"
#include "reference/support/sha256.h"

namespace bitgate::machine::ptx {

namespace {

std::string target_text(const Module& module, const std::vector<std::string>& options) {
  std::string out = fmt::format(".target {}", module.target);
  for (const std::string& option : options) out += ", " + option;
  return out + fmt::format("\n.address_size {}\n", module.address_size);
}

/// Canonical names of functions and variables of the module.
class CanonicalModule {
 public:
  CanonicalModule(const Module& module, const Reach& reached) : module_(module), names_(module) {
    for (std::size_t i = 0; i < reached.functions.size(); ++i) {
      const Function& function = module.functions[reached.functions[i]];
      // What is defined elsewhere is known by its name alone.
      functions_[reached.functions[i]] =
          function.has_body ? fmt::format("function#{}", i) : function.name;
    }
    for (std::size_t i = 0; i < reached.variables.size(); ++i) {
      const Variable& variable = module.variables[reached.variables[i]];
      const bool elsewhere = variable.is_extern && variable.space != StateSpace::shared;
      variables_[reached.variables[i]] = elsewhere ? variable.name : fmt::format("variable#{}", i);
    }
  }

  std::string rename(std::string_view name) const {
    using Kind = ModuleNames::Meaning::Kind;
    ModuleNames::Meaning meaning = names_.find(name);
    // An alias is its target; a cycle of aliases is left as it is.
    for (std::size_t i = 0; i < module_.aliases.size() && meaning.kind == Kind::alias; ++i) {
      meaning = names_.find(module_.aliases[meaning.index].target);
    }
    const auto& names = meaning.kind == Kind::function ? functions_ : variables_;
    const auto found = names.find(meaning.index);
    if (meaning.kind == Kind::unknown || meaning.kind == Kind::alias || found == names.end()) {
      return std::string(name);
    }
    return found->second;
  }

 private:
  const Module& module_;
  ModuleNames names_;
  std::map<std::uint32_t, std::string> functions_;
  std::map<std::uint32_t, std::string> variables_;
};

/// Prints one function with canonical names.
class CanonicalFunction {
 public:
  CanonicalFunction(const Function& function, const CanonicalModule& module)
      : function_(function), module_(module), names_(function) {}

  std::string text() {
    find_branch_targets();
    std::string out =
        signature_text(function_, [this](std::string_view name) { return signature_name(name); });
    out += '\n' + directives_text(function_);
    if (!function_.has_body) return out + ";\n";
    out += "{\n";
    for (std::uint32_t i = 0; i < function_.body.size(); ++i) append_statement(out, i);
    return out + "}\n";
  }

 private:
  using Kind = Names::Meaning::Kind;

  std::string signature_name(std::string_view name) {
    if (name == function_.name) return function_.is_entry ? "entry" : module_.rename(name);
    return rename(0, name);
  }

  void find_branch_targets() {
    for_each_symbol(function_, [&](std::uint32_t scope, std::string_view name) {
      const Names::Meaning meaning = names_.find(scope, name);
      if (meaning.kind == Kind::label) branch_targets_.insert(meaning.index);
    });
  }

  void append_statement(std::string& out, std::uint32_t index) {
    const Statement& statement = function_.body[index];
    const Rename in_scope = [&](std::string_view name) { return rename(statement.scope, name); };
    if (const auto* instruction = std::get_if<Instruction>(&statement.item)) {
      out += to_text(*instruction, in_scope) + ";\n";
    } else if (const auto* label = std::get_if<Label>(&statement.item)) {
      if (branch_targets_.contains(index)) out += in_scope(label->name) + ":\n";
    } else if (const auto* variable = std::get_if<Variable>(&statement.item)) {
      out += to_text(*variable, in_scope) + ";\n";
    } else if (const auto* targets = std::get_if<Targets>(&statement.item)) {
      out += to_text(*targets, in_scope) + ";\n";
    } else if (const auto* directive = std::get_if<Directive>(&statement.item)) {
      out += to_text(*directive) + ";\n";
    }
    // Registers are declared by their names, which carry the type.
  }

  std::string rename(std::uint32_t scope, std::string_view name) {
    const Names::Meaning meaning = names_.find(scope, name);
    if (meaning.kind == Kind::unknown) return module_.rename(name);
    const auto [found, is_new] = numbers_.try_emplace(meaning, 0);
    if (is_new) found->second = next_[meaning.kind]++;
    switch (meaning.kind) {
      case Kind::reg: {
        const Names::Registers& registers = names_.registers()[meaning.index];
        return registers.vector_width > 1
                   ? fmt::format("v{}{}#{}", registers.vector_width, registers.type, found->second)
                   : fmt::format("{}#{}", registers.type, found->second);
      }
      case Kind::variable:
        return fmt::format("local#{}", found->second);
      case Kind::label:
      case Kind::targets:
        return fmt::format("label#{}", found->second);
      case Kind::parameter:
        return fmt::format("param#{}", meaning.index);
      default:
        return fmt::format("return#{}", meaning.index);
    }
  }

  const Function& function_;
  const CanonicalModule& module_;
  Names names_;
  std::set<std::uint32_t> branch_targets_;
  std::map<Names::Meaning, std::uint32_t> numbers_;
  std::map<Kind, std::uint32_t> next_;
};

/// Prints a function as it was, scopes included, without comments and line information.
class OriginalFunction {
 public:
  OriginalFunction(const Function& function, const Rename& keep)
      : function_(function), keep_(keep) {}

  std::string text() {
    out_ = "{\n";
    for (const Statement& statement : function_.body) {
      go_to(statement.scope);
      std::visit([this](const auto& item) { append(item); }, statement.item);
    }
    go_to(0);
    return std::move(out_) + "}\n";
  }

 private:
  // Closes and opens braces on the way from the current scope to another.
  void go_to(std::uint32_t scope) {
    std::vector<std::uint32_t> to_open;
    std::uint32_t meeting = scope;
    // Scopes are numbered in order of their opening braces: a parent is less than its children.
    while (meeting != current_) {
      if (meeting > current_) {
        to_open.push_back(meeting);
        meeting = function_.scope_parent[meeting];
      } else {
        out_ += "}\n";
        current_ = function_.scope_parent[current_];
      }
    }
    for (std::size_t i = 0; i < to_open.size(); ++i) out_ += "{\n";
    current_ = scope;
  }

  void append(const Label& label) { out_ += label.name + ":\n"; }
  void append(const Instruction& instruction) { out_ += to_text(instruction, keep_) + ";\n"; }
  void append(const RegisterDeclaration& registers) { out_ += to_text(registers) + ";\n"; }
  void append(const Variable& variable) { out_ += to_text(variable, keep_) + ";\n"; }
  void append(const Targets& targets) { out_ += to_text(targets, keep_) + ";\n"; }
  void append(const Directive& directive) { out_ += to_text(directive) + ";\n"; }

  const Function& function_;
  const Rename& keep_;
  std::string out_;
  std::uint32_t current_ = 0;
};

std::string linkage_text(const Function& function) {
  std::string out;
  if (function.is_extern) out += ".extern ";
  if (function.is_visible) out += ".visible ";
  if (function.is_weak) out += ".weak ";
  return out;
}

}  // namespace

std::string canonical_text(const Module& module, std::string_view entry) {
  const Reach reached = reach(module, entry);
  const CanonicalModule names(module, reached);
  const Rename rename = [&](std::string_view name) { return names.rename(name); };
  std::string out = target_text(module, module.target_options);
  for (const Directive& directive : module.directives) out += to_text(directive) + ";\n";
  for (const std::uint32_t index : reached.functions) {
    out += CanonicalFunction(module.functions[index], names).text();
  }
  for (const std::uint32_t index : reached.variables) {
    Variable variable = module.variables[index];
    // Who else may see it changes nothing of what this code does.
    variable.is_visible = variable.is_weak = false;
    out += to_text(variable, rename) + ";\n";
  }
  return out;
}

std::string code_hash(const Module& module, std::string_view entry) {
  return sha256(canonical_text(module, entry));
}

std::string slice_module(const Module& module, std::string_view entry) {
  Reach reached = reach(module, entry);
  std::ranges::sort(reached.functions);
  std::ranges::sort(reached.variables);
  const Rename keep = [](std::string_view name) { return std::string(name); };
  std::string out = fmt::format(".version {}.{}\n", module.version_major, module.version_minor);
  // ptxas insists on debug sections beside the option "debug", and they are gone.
  std::vector<std::string> options = module.target_options;
  std::erase(options, "debug");
  out += target_text(module, options);
  for (const Directive& directive : module.directives) out += to_text(directive) + ";\n";
  // Functions may call each other and variables may hold their addresses: declared first.
  for (const std::uint32_t index : reached.functions) {
    const Function& function = module.functions[index];
    if (function.is_entry) continue;
    out += linkage_text(function) + signature_text(function, keep);
    out += function.noreturn ? "\n.noreturn;\n" : ";\n";
  }
  for (const std::uint32_t index : reached.aliases) {
    const Alias& alias = module.aliases[index];
    for (const Function& function : module.functions) {
      if (function.name != alias.name) continue;
      out += linkage_text(function) + signature_text(function, keep) + ";\n";
      break;
    }
  }
  for (const std::uint32_t index : reached.variables) {
    out += to_text(module.variables[index], keep) + ";\n";
  }
  for (const std::uint32_t index : reached.functions) {
    const Function& function = module.functions[index];
    if (!function.has_body) continue;
    out += linkage_text(function) + signature_text(function, keep) + '\n';
    out += directives_text(function) + OriginalFunction(function, keep).text();
  }
  for (const std::uint32_t index : reached.aliases) {
    out +=
        fmt::format(".alias {}, {};\n", module.aliases[index].name, module.aliases[index].target);
  }
  return out;
}

}  // namespace bitgate::machine::ptx
