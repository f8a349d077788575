#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/machine/ptx/ast.h"
#include "reference/machine/ptx/token_stream.h"

namespace bitgate::machine::ptx {

/// Which names of the enclosing { } scopes are registers. Names that begin with % are, by
/// convention of every compiler; inline assembly declares others (`.reg .f16 low, high;`).
class RegisterScopes {
 public:
  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  void declare(const RegisterDeclaration& declaration);
  void declare(const Variable& variable);
  bool is_register(std::string_view name) const;

 private:
  struct Scope {
    std::map<std::string, bool, std::less<>> names;             ///< true: a register
    std::map<std::string, std::uint32_t, std::less<>> counted;  ///< of r<count>
  };
  std::vector<Scope> scopes_;
};

/// One operand of an instruction with this opcode.
Operand parse_operand(TokenStream& tokens, const RegisterScopes& scopes, std::string_view opcode);

}  // namespace bitgate::machine::ptx
