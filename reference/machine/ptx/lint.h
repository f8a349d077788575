#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/machine/ptx/ast.h"

namespace bitgate::machine::ptx {

/// An instruction whose result PTX does not fix.
struct LintFinding {
  enum class Kind { contractible, approximate, activemask, float_atomic, clock };
  Kind kind;
  std::string entry;        ///< function it is in
  std::string instruction;  ///< as written
  std::uint32_t ptx_line = 0;
  std::string file;  ///< source file and line, where .loc says so
  std::uint32_t line = 0;
  std::string why;
};

/// Contractible pairs by ptxas 13.0's rule: an unmarked multiplication whose product reaches an
/// unmarked addition or subtraction that agrees on .ftz (f32, f64, f16, bf16 and packed).
std::vector<LintFinding> lint(const Module& module);

}  // namespace bitgate::machine::ptx
