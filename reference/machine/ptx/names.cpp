#include "reference/machine/ptx/names.h"

#include <charconv>
#include <limits>
#include <variant>

namespace bitgate::machine::ptx {

Names::Names(const Function& function)
    : function_(function), scopes_(function.scope_parent.size()) {
  using Kind = Meaning::Kind;
  const auto add_parameters = [&](const std::vector<Variable>& list, Kind kind) {
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      Meaning meaning{kind, i, 0};
      if (list[i].space == StateSpace::reg) {
        meaning = {Kind::reg, static_cast<std::uint32_t>(registers_.size()), 0};
        registers_.push_back({list[i].type, list[i].vector_width, 1});
      }
      scopes_[0].names.insert_or_assign(list[i].name, meaning);
    }
  };
  add_parameters(function.returns, Kind::returned);
  add_parameters(function.parameters, Kind::parameter);
  for (std::uint32_t i = 0; i < function.body.size(); ++i) {
    const Statement& statement = function.body[i];
    Scope& scope = scopes_[statement.scope];
    if (const auto* declared = std::get_if<RegisterDeclaration>(&statement.item)) {
      const auto index = static_cast<std::uint32_t>(registers_.size());
      registers_.push_back({declared->type, declared->vector_width, declared->count.value_or(1)});
      if (declared->count) {
        scope.counted.insert_or_assign(declared->name, index);
      } else {
        scope.names.insert_or_assign(declared->name, Meaning{Kind::reg, index, 0});
      }
    } else if (const auto* variable = std::get_if<Variable>(&statement.item)) {
      scope.names.insert_or_assign(variable->name, Meaning{Kind::variable, i, 0});
    } else if (const auto* label = std::get_if<Label>(&statement.item)) {
      scope.names.insert_or_assign(label->name, Meaning{Kind::label, i, 0});
    } else if (const auto* targets = std::get_if<Targets>(&statement.item)) {
      scope.names.insert_or_assign(targets->name, Meaning{Kind::targets, i, 0});
    }
  }
}

Names::Meaning Names::find(std::uint32_t scope, std::string_view name) const {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string_view stem = name.substr(0, digits);
  // %r01 is a name of its own, not %r1.
  const bool numbered = digits < name.size() && (name[digits] != '0' || digits + 1 == name.size());
  std::uint32_t number = std::numeric_limits<std::uint32_t>::max();
  if (numbered) std::from_chars(name.data() + digits, name.data() + name.size(), number);
  for (;;) {
    const Scope& here = scopes_[scope];
    if (const auto found = here.names.find(name); found != here.names.end()) return found->second;
    if (numbered) {
      const auto found = here.counted.find(stem);
      if (found != here.counted.end() && number < registers_[found->second].count) {
        return {Meaning::Kind::reg, found->second, number};
      }
    }
    if (scope == 0) return {};
    scope = function_.scope_parent[scope];
  }
}

}  // namespace bitgate::machine::ptx
