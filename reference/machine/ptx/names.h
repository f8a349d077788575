#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "reference/machine/ptx/ast.h"

namespace bitgate::machine::ptx {

/// What the names of one function mean, scope by scope: names of an inner { } hide outer ones, and
/// labels are local to their scope too (inline assembly repeats them). Refers into the function.
class Names {
 public:
  explicit Names(const Function& function);

  struct Meaning {
    enum class Kind { unknown, reg, variable, label, targets, parameter, returned };
    Kind kind = Kind::unknown;
    /// reg: of registers(); variable, label, targets: of Function::body; parameter and returned:
    /// of Function::parameters and returns.
    std::uint32_t index = 0;
    std::uint32_t number = 0;  ///< reg: 3 of %r3 declared as %r<12>
    friend auto operator<=>(const Meaning&, const Meaning&) = default;
  };
  /// Kind unknown: nothing of the function, so a name of the module or a special register.
  Meaning find(std::uint32_t scope, std::string_view name) const;

  struct Registers {
    std::string_view type;
    std::uint32_t vector_width = 1;
    std::uint32_t count = 1;
  };
  const std::vector<Registers>& registers() const { return registers_; }

 private:
  struct Scope {
    std::map<std::string_view, Meaning> names;
    std::map<std::string_view, std::uint32_t> counted;  ///< stem of %r<12>: of registers()
  };
  const Function& function_;
  std::vector<Registers> registers_;
  std::vector<Scope> scopes_;
};

}  // namespace bitgate::machine::ptx
