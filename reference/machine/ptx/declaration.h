#pragma once

#include <string>
#include <vector>

#include "reference/machine/ptx/ast.h"
#include "reference/machine/ptx/token_stream.h"

namespace bitgate::machine::ptx {

/// Linking directives before a declaration.
struct Linkage {
  bool is_extern = false;
  bool is_visible = false;
  bool is_weak = false;
  bool is_common = false;
};

/// `.global .align 4 .v2 .f32 a[4] = { … }, b;`; the state space is the current token, and the
/// semicolon is taken.
std::vector<Variable> parse_variables(TokenStream& tokens, const Linkage& linkage);

/// `(.param .u64 .ptr .global .align 16 name, …)`, parentheses included.
std::vector<Variable> parse_parameters(TokenStream& tokens);

/// `.reg .b32 %r<12>, %x;`, from `.reg` to the semicolon.
std::vector<RegisterDeclaration> parse_registers(TokenStream& tokens);

/// `(.managed, .unified(1, 2))` behind `.attribute`.
std::vector<std::string> parse_attributes(TokenStream& tokens);

}  // namespace bitgate::machine::ptx
