// Any bytes: parsed, or refused by an InputError; what is parsed can be hashed, cut and linted, and
// a slice reads back as the same code.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "reference/machine/ptx/canonical.h"
#include "reference/machine/ptx/lint.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bitgate::machine::ptx;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Module module;
  try {
    module = parse(text);
  } catch (const bitgate::InputError&) {
    return 0;
  }
  lint(module);
  for (const Function& function : module.functions) {
    if (!function.is_entry) continue;
    try {
      lint_counts(module, function.name);
      const std::string hash = code_hash(module, function.name);
      const Module slice = parse(slice_module(module, function.name), "slice");
      if (code_hash(slice, function.name) != hash) std::abort();
    } catch (const bitgate::InputError&) {
      // Two functions of one name: the name may mean the one that is no entry.
    }
  }
  return 0;
}
