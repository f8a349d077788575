#pragma once

#include <string>
#include <string_view>

#include "reference/machine/ptx/ast.h"

namespace bitgate::machine::ptx {

/// Canonical text of an entry with the functions and variables it reaches: comments, .loc, .file
/// and debug sections gone; registers, labels and parameters renumbered in order of appearance;
/// path-derived names replaced. Two builds of the same code in two folders have equal texts.
std::string canonical_text(const Module& module, std::string_view entry);

/// SHA-256 of canonical_text: the *code hash* of the entry.
std::string code_hash(const Module& module, std::string_view entry);

/// A complete module that ptxas accepts, holding that entry alone and what it reaches, with the
/// original names and line information removed.
std::string slice_module(const Module& module, std::string_view entry);

}  // namespace bitgate::machine::ptx
