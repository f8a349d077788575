#pragma once

#include <string>
#include <string_view>

#include "reference/machine/ptx/ast.h"

namespace bitgate::machine::ptx {

/// Canonical text of an entry with the functions and variables it reaches: comments, .loc, .file,
/// debug sections, scopes and labels that nothing branches to are gone; registers (named by type),
/// labels, parameters, functions and variables are renumbered, the module's in order of reach and
/// the others in order of appearance. Two builds of the same code in two folders have equal texts.
/// The entry's own name and the PTX version are not part of it; the target is. Functions and
/// variables that are defined elsewhere keep their names. The text is for reading and hashing; its
/// names (`b32#3`) are none that PTX allows, so that they cannot meet one that was kept.
std::string canonical_text(const Module& module, std::string_view entry);

/// SHA-256 of canonical_text: the *code hash* of the entry.
std::string code_hash(const Module& module, std::string_view entry);

/// A complete module that ptxas accepts, holding that entry alone and what it reaches, with the
/// original names, line information removed. InputError, of all three, when there is no such entry.
std::string slice_module(const Module& module, std::string_view entry);

}  // namespace bitgate::machine::ptx
