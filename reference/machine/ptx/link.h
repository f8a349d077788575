#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/machine/ptx/ast.h"

namespace bitgate::machine::ptx {

/// A module and where its text stands among those it was linked with.
struct LinkInput {
  Module module;
  std::string name;
  std::uint32_t first_line = 0;  ///< lines of the texts before it
};

/// Several modules as one, as `nvcc -rdc=true` and a device linker make it (PTX ISA, "Linking
/// Directives"): `.extern` names find the definition of another module, of `.weak` and `.common`
/// ones the first counts, and names that a module keeps to itself are made different where two
/// modules have the same. Line and file numbers are moved on, so that they stay distinct.
/// InputError when a name is defined twice.
Module link(std::vector<LinkInput> inputs);

}  // namespace bitgate::machine::ptx
