#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reference/machine/program/code.h"
#include "reference/machine/ptx/ast.h"

namespace bitgate::machine {

/// The lines of one PTX text, and how many lines those before it have: PTX lines count through all
/// texts that were linked.
struct SourceText {
  std::uint32_t first_line = 0;
  std::vector<std::string> lines;
};
std::vector<std::string> lines_of(std::string_view text);

/// What all entries of a module share.
struct ModuleLayout {
  const ptx::Module* module = nullptr;
  std::map<std::string, const ptx::Function*, std::less<>> functions;  ///< those with a body
  std::map<std::string, const ptx::Variable*> variables;               ///< module scope
  std::map<const ptx::Variable*, std::uint64_t> constant_offset;       ///< `.const`, in the bank
  std::set<std::string> taken;  ///< names used otherwise than in a direct call
  std::vector<SourceText> texts;

  /// By its name or an alias; null when there is none with a body.
  const ptx::Function* function(std::string_view name) const;
  /// The text that a line is of.
  const SourceText& text_with(std::uint32_t line) const;
};

/// Lays out a module's variables and functions; what a run needs of them goes into `impl`.
ModuleLayout lay_out(const ptx::Module& module, std::vector<SourceText> texts, Program::Impl& impl);

}  // namespace bitgate::machine
