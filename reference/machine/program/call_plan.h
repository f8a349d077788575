#pragma once

#include <set>
#include <string>
#include <vector>

#include "reference/machine/ptx/ast.h"

namespace bitgate::machine {

struct ModuleLayout;

/// What an entry calls, and how. Most device functions are expanded at their calls; a *procedure*
/// is decoded once and called at run time, on a stack: functions that call themselves, by whatever
/// detour, whose address is taken where there are calls through registers, that allocate on the
/// stack, or whose expansion would be too large or too deep.
struct CallPlan {
  std::vector<const ptx::Function*> reached;     ///< the entry first
  std::vector<const ptx::Function*> procedures;  ///< among them
  /// Whether anything reached uses alloca, stacksave or stackrestore.
  bool uses_stack = false;
};

/// Names of functions and variables that a module uses otherwise than to call them.
std::set<std::string> taken_addresses(const ptx::Module& module);

CallPlan plan_calls(const ModuleLayout& layout, const ptx::Function& entry);

/// The operand of a `call` that names the function, the lists beside it, and the prototype.
struct CallOperands {
  const ptx::Operand* returns = nullptr;
  const ptx::Operand* target = nullptr;
  const ptx::Operand* arguments = nullptr;
  const ptx::Operand* prototype = nullptr;
};
CallOperands call_operands(const ptx::Instruction& call);

}  // namespace bitgate::machine
