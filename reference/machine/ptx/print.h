#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "reference/machine/ptx/ast.h"

namespace bitgate::machine::ptx {

/// What a name is printed as; the identity for text that reads as the source did.
using Rename = std::function<std::string(std::string_view)>;

/// "@%p1 mul.rn.f32 %f1, %f2, 0f3F800000", without the semicolon.
std::string to_text(const Instruction& instruction);
std::string to_text(const Instruction& instruction, const Rename& rename);

/// ".visible .global .align 4 .b8 lut[4] = {1, 2, 3, 4}", without the semicolon. An initialised
/// array of several dimensions is printed with one.
std::string to_text(const Variable& variable, const Rename& rename);

/// ".reg .b32 %r<12>".
std::string to_text(const RegisterDeclaration& registers);

/// "name: .branchtargets a, b".
std::string to_text(const Targets& targets, const Rename& rename);

/// ".pragma \"nounroll\"".
std::string to_text(const Directive& directive);

/// ".func (.param .b32 r) f(.param .u64 p)", without linkage, directives and body.
std::string signature_text(const Function& function, const Rename& rename);

/// ".maxntid 256, 1, 1\n.minnctapersm 2\n", … one directive a line.
std::string directives_text(const Function& function);

}  // namespace bitgate::machine::ptx
