#pragma once

#include <string_view>
#include <vector>

#include "reference/machine/program/code.h"

namespace bitgate::machine {

/// A function that CUDA's runtime offers to device code without a body in PTX: vprintf,
/// __assertfail, malloc, free (CUDA C++ Programming Guide, "Formatted Output", "Assertion",
/// "Dynamic Global Memory Allocation"). Its arguments come in Op::a, b, c, e, the result goes to
/// Op::d.
struct SystemCall {
  std::string_view name;
  std::vector<Kind> parameters;
  Kind result = Kind::none;
  Handler handler = nullptr;
  /// What it gives depends on the order of blocks.
  bool communicates = false;
};

/// Null when there is none of that name.
const SystemCall* find_system_call(std::string_view name);

}  // namespace bitgate::machine
