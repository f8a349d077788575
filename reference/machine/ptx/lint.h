#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

/// "contractible", "approximate", "activemask", "float_atomic", "clock".
std::string_view name(LintFinding::Kind kind);

/// Contractible pairs by ptxas 13.0's rule: an unmarked multiplication whose product reaches an
/// unmarked addition or subtraction that agrees on .ftz (f32, f64, f16, bf16 and packed). The
/// addition is the finding: its bits are not fixed. Products are followed through mov, neg and the
/// packing of vectors, across blocks, without regard to order: a register that holds a product
/// somewhere counts as one everywhere. All functions of the module, in order of the text.
std::vector<LintFinding> lint(const Module& module);

/// Findings of the entry and what it reaches, by kind. InputError when there is no such entry.
struct LintCounts {
  std::uint32_t contractible = 0;
  std::uint32_t approximate = 0;
  std::uint32_t activemask = 0;
  std::uint32_t float_atomic = 0;
  std::uint32_t clock = 0;
};
LintCounts lint_counts(const Module& module, std::string_view entry);

}  // namespace bitgate::machine::ptx
