#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "reference/machine/machine.h"
#include "reference/machine/program/code.h"
#include "reference/machine/program/entry_decoder.h"
#include "reference/machine/program/layout.h"
#include "reference/machine/ptx/lint.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/error.h"

namespace bitgate::machine {

namespace {

constexpr std::uint64_t kMostConstantBytes = std::uint64_t{1} << 26;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

ModuleLayout lay_out(const ptx::Module& module, std::string_view text, Program::Impl& impl) {
  ModuleLayout layout;
  layout.module = &module;
  layout.text_lines = lines_of(text);
  for (const ptx::Function& function : module.functions) {
    if (function.has_body) layout.functions[function.name] = &function;
  }
  std::uint64_t constants = 0;
  for (const ptx::Variable& variable : module.variables) {
    layout.variables[variable.name] = &variable;
    if (variable.is_extern) continue;
    const Extent extent = extent_of(variable);
    if (variable.space == ptx::StateSpace::constant && variable.relocations.empty()) {
      constants = align_up(constants, extent.alignment);
      if (constants + extent.bytes > kMostConstantBytes) {
        throw InputError(fmt::format("line {}: constant variables exceed {} bytes",
                                     variable.ptx_line, kMostConstantBytes));
      }
      layout.constant_offset[&variable] = constants;
      impl.constant_bank.resize(constants + extent.bytes);
      std::copy(variable.initial.begin(), variable.initial.end(),
                impl.constant_bank.begin() + static_cast<std::ptrdiff_t>(constants));
      constants += extent.bytes;
    }
    if (variable.space == ptx::StateSpace::global) {
      impl.globals.push_back(
          {variable.name, extent.bytes, extent.alignment, variable.initial, variable.relocations});
    }
  }
  return layout;
}

}  // namespace

const Code& Program::Impl::code(std::string_view entry) const {
  for (const Code& candidate : codes) {
    if (candidate.name == entry) return candidate;
  }
  std::string known;
  for (const Code& candidate : codes) known += (known.empty() ? "" : ", ") + candidate.name;
  throw InputError(
      fmt::format("{} has no entry '{}'; it has: {}", name, entry, known.empty() ? "none" : known));
}

Program Program::load(std::string_view ptx, std::string_view name) {
  static std::atomic<std::uint64_t> count{0};
  auto impl = std::make_shared<Impl>();
  impl->number = ++count;
  impl->name = name;
  const ptx::Module module = ptx::parse(ptx, name);
  if (module.address_size != 64) {
    throw InputError(
        fmt::format("{}: .address_size {} where 64 is expected", name, module.address_size));
  }
  const ModuleLayout layout = lay_out(module, ptx, *impl);
  for (const ptx::Function& function : module.functions) {
    if (function.is_entry && function.has_body) {
      impl->codes.push_back(EntryDecoder(layout, function).decode());
    }
  }
  for (const ptx::LintFinding& finding : ptx::lint(module)) {
    for (Code& code : impl->codes) {
      if (code.name != finding.entry) continue;
      code.contractible += finding.kind == ptx::LintFinding::Kind::contractible ? 1U : 0U;
      code.approximate += finding.kind == ptx::LintFinding::Kind::approximate ? 1U : 0U;
    }
  }
  Program program;
  program.impl_ = std::move(impl);
  return program;
}

std::vector<std::string> Program::entries() const {
  std::vector<std::string> names;
  for (const Code& code : impl_->codes) names.push_back(code.name);
  return names;
}

std::vector<ParameterSlot> Program::parameters(std::string_view entry) const {
  return impl_->code(entry).parameters;
}

std::uint32_t Program::static_shared_bytes(std::string_view entry) const {
  return impl_->code(entry).static_shared_bytes;
}

}  // namespace bitgate::machine
