#pragma once

#include <cstdint>
#include <string_view>

#include "reference/machine/ptx/ast.h"
#include "reference/machine/ptx/token_stream.h"

namespace bitgate::machine::ptx {

/// Evaluates a constant expression (PTX ISA, "Constants": 64-bit integers, .s64 unless a literal
/// says U or needs the top bit; the operators of C). Floats take a sign and nothing else.
Immediate parse_constant(TokenStream& tokens);

/// True where a constant expression may begin: a number, a sign, `~`, `!`, `(` or WARP_SZ.
bool begins_constant(const Token& token);

/// An integer constant in [low, high]; `what` names it in messages.
std::int64_t parse_integer(TokenStream& tokens, std::int64_t low, std::int64_t high,
                           std::string_view what);
/// The same of one literal, where an operator may follow that belongs to something else.
std::int64_t parse_integer_literal(TokenStream& tokens, std::int64_t low, std::int64_t high,
                                   std::string_view what);

}  // namespace bitgate::machine::ptx
