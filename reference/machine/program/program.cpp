#include <fmt/format.h>

#include <atomic>

#include "reference/machine/machine.h"
#include "reference/machine/program/code.h"
#include "reference/machine/program/entry_decoder.h"
#include "reference/machine/program/module_layout.h"
#include "reference/machine/ptx/link.h"
#include "reference/machine/ptx/lint.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/error.h"

namespace bitgate::machine {

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
  const PtxText text{ptx, name};
  return load(std::span(&text, 1));
}

Program Program::load(std::span<const PtxText> texts) {
  static std::atomic<std::uint64_t> count{0};
  auto impl = std::make_shared<Impl>();
  impl->number = ++count;
  std::vector<ptx::LinkInput> inputs;
  std::vector<SourceText> sources;
  std::uint32_t lines = 0;
  for (const PtxText& text : texts) {
    impl->name += (impl->name.empty() ? "" : ", ") + std::string(text.name);
    inputs.push_back({ptx::parse(text.text, text.name), std::string(text.name), lines});
    if (inputs.back().module.address_size != 64) {
      throw InputError(fmt::format("{}: .address_size {} where 64 is expected", text.name,
                                   inputs.back().module.address_size));
    }
    sources.push_back({lines, lines_of(text.text)});
    lines += static_cast<std::uint32_t>(sources.back().lines.size());
  }
  const ptx::Module module =
      inputs.size() == 1 ? std::move(inputs[0].module) : ptx::link(std::move(inputs));
  const ModuleLayout layout = lay_out(module, std::move(sources), *impl);
  for (const ptx::Function& function : module.functions) {
    if (function.is_entry && function.has_body) {
      impl->codes.push_back(EntryDecoder(layout, *impl, function).decode());
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
