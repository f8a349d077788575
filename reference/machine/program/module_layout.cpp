#include "reference/machine/program/module_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reference/machine/memory/address_space.h"
#include "reference/machine/program/call_plan.h"
#include "reference/machine/program/layout.h"
#include "reference/support/error.h"

namespace bitgate::machine {

namespace {

constexpr std::uint64_t kMostConstantBytes = std::uint64_t{1} << 26;
/// Distance of the addresses of two functions.
constexpr std::uint64_t kFunctionBytes = 16;

void lay_out_constant(const ptx::Variable& variable, ModuleLayout& layout, Program::Impl& impl) {
  const Extent extent = extent_of(variable);
  const std::uint64_t offset = align_up(impl.constant_bank.size(), extent.alignment);
  if (offset + extent.bytes > kMostConstantBytes) {
    throw InputError(fmt::format("line {}: constant variables exceed {} bytes", variable.ptx_line,
                                 kMostConstantBytes));
  }
  layout.constant_offset[&variable] = offset;
  impl.constant_offset[variable.name] = offset;
  impl.constant_bank.resize(offset + extent.bytes);
  std::copy(variable.initial.begin(), variable.initial.end(),
            impl.constant_bank.begin() + static_cast<std::ptrdiff_t>(offset));
  for (ptx::Variable::Relocation relocation : variable.relocations) {
    relocation.at += offset;
    impl.constant_relocations.push_back(std::move(relocation));
  }
}

}  // namespace

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

const SourceText& ModuleLayout::text_with(std::uint32_t line) const {
  const auto after = std::find_if(texts.begin() + 1, texts.end(),
                                  [&](const SourceText& text) { return text.first_line >= line; });
  return *(after - 1);
}

const ptx::Function* ModuleLayout::function(std::string_view name) const {
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

ModuleLayout lay_out(const ptx::Module& module, std::vector<SourceText> texts,
                     Program::Impl& impl) {
  ModuleLayout layout;
  layout.module = &module;
  layout.texts = std::move(texts);
  layout.taken = taken_addresses(module);
  for (const ptx::Function& function : module.functions) {
    if (function.has_body) layout.functions[function.name] = &function;
  }
  for (const ptx::Alias& alias : module.aliases) {
    if (const ptx::Function* target = layout.function(alias.target)) {
      layout.functions.try_emplace(alias.name, target);
    }
  }
  std::map<const ptx::Function*, std::uint64_t> addresses;
  for (const auto& [name, function] : layout.functions) {
    const std::uint64_t next = kCodeWindow + (addresses.size() + 1) * kFunctionBytes;
    impl.function_address[name] = addresses.try_emplace(function, next).first->second;
  }
  for (const ptx::Variable& variable : module.variables) {
    layout.variables[variable.name] = &variable;
    if (variable.is_extern) continue;
    if (variable.space == ptx::StateSpace::constant) lay_out_constant(variable, layout, impl);
    if (variable.space == ptx::StateSpace::global) {
      const Extent extent = extent_of(variable);
      impl.globals.push_back(
          {variable.name, extent.bytes, extent.alignment, variable.initial, variable.relocations});
    }
  }
  return layout;
}

}  // namespace bitgate::machine
