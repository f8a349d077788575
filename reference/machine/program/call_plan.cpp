#include "reference/machine/program/call_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "reference/machine/program/module_layout.h"

namespace bitgate::machine {

namespace {

/// Instructions beyond which a function with several callers is not expanded at each.
constexpr std::uint64_t kLargeExpansion = 4'000;
constexpr std::uint32_t kDeepestExpansion = 64;
/// What a call of a procedure counts.
constexpr std::uint64_t kCallSize = 4;

void collect_symbols(const ptx::Operand& operand, std::set<std::string>& names) {
  if (operand.kind == ptx::Operand::Kind::symbol || operand.kind == ptx::Operand::Kind::address) {
    names.insert(operand.name);
  }
  for (const ptx::Operand& element : operand.elements) collect_symbols(element, names);
}

/// What one function does that matters to its callers.
struct Node {
  std::vector<const ptx::Function*> callees;
  std::uint64_t size = 0;
  std::uint32_t height = 0;
  std::size_t callers = 0;  ///< calls of it
  bool allocates = false;
  bool calls_indirectly = false;
};

Node look_at(const ModuleLayout& layout, const ptx::Function& function) {
  Node node;
  node.size = function.body.size();
  for (const ptx::Statement& statement : function.body) {
    const auto* text = std::get_if<ptx::Instruction>(&statement.item);
    if (text == nullptr) continue;
    if (text->opcode == "alloca" || text->opcode == "stacksave" || text->opcode == "stackrestore") {
      node.allocates = true;
    }
    if (text->opcode != "call") continue;
    const ptx::Operand* target = call_operands(*text).target;
    if (target == nullptr) continue;
    if (target->kind != ptx::Operand::Kind::symbol) {
      node.calls_indirectly = true;
    } else if (const ptx::Function* callee = layout.function(target->name)) {
      node.callees.push_back(callee);
    }
  }
  return node;
}

}  // namespace

CallOperands call_operands(const ptx::Instruction& call) {
  // call{.uni} {(returns),} function {, (arguments)} {, prototype}
  CallOperands result;
  for (const ptx::Operand& operand : call.operands) {
    if (operand.kind == ptx::Operand::Kind::call_list) {
      (result.target == nullptr ? result.returns : result.arguments) = &operand;
    } else if (result.target == nullptr) {
      result.target = &operand;
    } else {
      result.prototype = &operand;
    }
  }
  return result;
}

std::set<std::string> taken_addresses(const ptx::Module& module) {
  std::set<std::string> names;
  const auto add_relocations = [&](const ptx::Variable& variable) {
    for (const ptx::Variable::Relocation& r : variable.relocations) names.insert(r.symbol);
  };
  for (const ptx::Variable& variable : module.variables) add_relocations(variable);
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Statement& statement : function.body) {
      if (const auto* text = std::get_if<ptx::Instruction>(&statement.item)) {
        const ptx::Operand* target = text->opcode == "call" ? call_operands(*text).target : nullptr;
        for (const ptx::Operand& operand : text->operands) {
          if (&operand != target) collect_symbols(operand, names);
        }
      } else if (const auto* variable = std::get_if<ptx::Variable>(&statement.item)) {
        add_relocations(*variable);
      }
    }
  }
  return names;
}

CallPlan plan_calls(const ModuleLayout& layout, const ptx::Function& entry) {
  CallPlan plan;
  std::map<const ptx::Function*, Node> nodes;
  std::set<const ptx::Function*> procedures;
  std::vector<const ptx::Function*> work{&entry};
  bool indirect = false;
  while (!work.empty()) {
    const ptx::Function* function = work.back();
    work.pop_back();
    if (nodes.contains(function)) continue;
    plan.reached.push_back(function);
    const Node& node = nodes.emplace(function, look_at(layout, *function)).first->second;
    work.insert(work.end(), node.callees.begin(), node.callees.end());
    plan.uses_stack = plan.uses_stack || node.allocates;
    if (node.allocates && function != &entry) procedures.insert(function);
    if (node.calls_indirectly && !indirect) {
      indirect = true;
      for (const std::string& name : layout.taken) {
        const ptx::Function* target = layout.function(name);
        if (target == nullptr || target->is_entry) continue;
        procedures.insert(target);
        work.push_back(target);
      }
    }
  }
  for (const auto& [function, node] : nodes) {
    for (const ptx::Function* callee : node.callees) ++nodes[callee].callers;
  }

  // Takes away what calls nothing that is left, callees first, and then what nothing left calls:
  // what stays is on a cycle or between two.
  std::map<const ptx::Function*, std::size_t> open;
  std::map<const ptx::Function*, std::vector<const ptx::Function*>> callers_of;
  std::vector<const ptx::Function*> leaves;
  for (const ptx::Function* function : plan.reached) {
    open[function] = nodes[function].callees.size();
    if (open[function] == 0) leaves.push_back(function);
    for (const ptx::Function* callee : nodes[function].callees) {
      callers_of[callee].push_back(function);
    }
  }
  const auto settle = [&](const ptx::Function* function) {
    Node& node = nodes[function];
    for (const ptx::Function* callee : node.callees) {
      const bool called = procedures.contains(callee);
      node.size += called ? kCallSize : nodes[callee].size;
      node.height = std::max(node.height, called ? 1 : nodes[callee].height + 1);
    }
    const bool large = node.size > kLargeExpansion && node.callers > 1;
    if (function != &entry && (large || node.height > kDeepestExpansion)) {
      procedures.insert(function);
    }
  };
  while (!leaves.empty()) {
    const ptx::Function* function = leaves.back();
    leaves.pop_back();
    settle(function);
    for (const ptx::Function* caller : callers_of[function]) {
      if (--open[caller] == 0) leaves.push_back(caller);
    }
  }
  std::map<const ptx::Function*, std::size_t> calls;
  for (const ptx::Function* function : plan.reached) {
    if (open[function] == 0) continue;
    for (const ptx::Function* callee : nodes[function].callees) {
      if (open[callee] != 0) ++calls[callee];
    }
  }
  std::vector<const ptx::Function*> roots;
  for (const ptx::Function* function : plan.reached) {
    if (open[function] != 0 && calls[function] == 0) roots.push_back(function);
  }
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const ptx::Function* function = roots[i];
    open[function] = 0;
    for (const ptx::Function* callee : nodes[function].callees) {
      if (open[callee] != 0 && --calls[callee] == 0) roots.push_back(callee);
    }
  }
  for (const ptx::Function* function : plan.reached) {
    if (open[function] != 0) procedures.insert(function);
  }
  for (std::size_t i = roots.size(); i-- > 0;) settle(roots[i]);
  for (const ptx::Function* function : plan.reached) {
    if (function != &entry && !function->is_entry && procedures.contains(function)) {
      plan.procedures.push_back(function);
    }
  }
  return plan;
}

}  // namespace bitgate::machine
