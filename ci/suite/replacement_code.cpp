#include "ci/suite/replacement_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/machine/ptx/canonical.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::suite {

CodeSource::CodeSource(const std::filesystem::path& ptx) : path_(ptx) {
  text_ = std::make_shared<const std::string>(read_text_file(ptx));
  const auto module = machine::ptx::parse(*text_, ptx.string());
  std::string entries;
  for (const auto& function : module.functions) {
    if (!function.is_entry) continue;
    entries += (entries.empty() ? "" : ", ") + function.name;
    const auto& all = kernels::kernels();
    const bool known = std::any_of(all.begin(), all.end(), [&](const kernels::Kernel& kernel) {
      return kernel.entry == function.name;
    });
    if (known) hashes_.emplace(function.name, machine::ptx::code_hash(module, function.name));
  }
  if (hashes_.empty()) {
    throw InputError(
        fmt::format("{}: expected an entry that a kernel has (bitgate list prints them), found {}",
                    ptx.string(), entries.empty() ? "no entry" : entries));
  }
  kernels::Code code;
  code.name = ptx.string();
  code.ptx = *text_;
  code_ = std::make_shared<const kernels::Code>(std::move(code));
}

std::vector<const kernels::Kernel*> CodeSource::among(
    const std::vector<const kernels::Kernel*>& all) const {
  if (!replaces()) return all;
  std::vector<const kernels::Kernel*> held;
  std::copy_if(all.begin(), all.end(), std::back_inserter(held),
               [&](const kernels::Kernel* kernel) { return hashes_.contains(kernel->entry); });
  if (held.empty()) {
    throw InputError(
        fmt::format("{}: holds the code of none of the kernels asked for", path_.string()));
  }
  return held;
}

const std::string& CodeSource::hash_of(const kernels::Kernel& kernel) const {
  const auto found = hashes_.find(kernel.entry);
  return found == hashes_.end() ? kernel.code_hash : found->second;
}

std::string CodeSource::replay_flag() const {
  return replaces() ? " --ptx " + path_.string() : std::string();
}

}  // namespace bitgate::suite
