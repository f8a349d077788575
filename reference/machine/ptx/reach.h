#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/machine/ptx/ast.h"
#include "reference/machine/ptx/names.h"

namespace bitgate::machine::ptx {

/// What an entry needs to run: the functions that it calls or whose address it takes, and the
/// variables that it names, through initialisers too.
struct Reach {
  std::vector<std::uint32_t>
      functions;  ///< of Module::functions, in order of discovery, the entry first
  std::vector<std::uint32_t> variables;  ///< of Module::variables, in order of discovery
  std::vector<std::uint32_t> aliases;    ///< of Module::aliases
};

/// InputError when the module has no such entry, naming those it has.
Reach reach(const Module& module, std::string_view entry);

/// The module's names: a function's definition wins over its prototypes.
class ModuleNames {
 public:
  explicit ModuleNames(const Module& module);
  struct Meaning {
    enum class Kind { unknown, function, variable, alias };
    Kind kind = Kind::unknown;
    std::uint32_t index = 0;
  };
  Meaning find(std::string_view name) const;

 private:
  std::map<std::string_view, Meaning> names_;
};

/// Calls `visit(scope, name)` for every name that the function's code uses and that may be more
/// than a register: variables, functions, labels.
void for_each_symbol(const Function& function,
                     const std::function<void(std::uint32_t, std::string_view)>& visit);

}  // namespace bitgate::machine::ptx
