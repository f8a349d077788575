#pragma once

#include <string_view>

#include "reference/machine/ptx/ast.h"

namespace bitgate::machine::ptx {

/// Parses a whole module. InputError "NAME:LINE:COLUMN: expected …, found …" when the text is not
/// PTX; never crashes, whatever the bytes. `name` is what errors call the text.
Module parse(std::string_view text, std::string_view name = "ptx");

}  // namespace bitgate::machine::ptx
