// Any bytes: parsed, or refused by an InputError; what is parsed can be hashed, cut and linted, and
// a slice reads back as the same code. It is decoded too, and each of its entries run for a moment.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "reference/machine/machine.h"
#include "reference/machine/program/code.h"
#include "reference/machine/ptx/canonical.h"
#include "reference/machine/ptx/lint.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/error.h"

namespace {

/// One warp, whose parameters are addresses of a small buffer.
void run_briefly(const bitgate::machine::Program& program, const std::string& entry) {
  using namespace bitgate::machine;
  constexpr std::uint32_t kMostRegisterBytes = 1U << 20;
  const Code& code = program.impl().code(entry);
  if (code.register_bytes > kMostRegisterBytes) return;
  GlobalMemory memory;
  const std::uint64_t buffer = memory.allocate(4096, "buffer");
  Launch launch;
  launch.entry = entry;
  launch.block = {32, 1, 1};
  launch.parameters.resize(code.parameter_bytes);
  for (std::size_t at = 0; at + sizeof(buffer) <= launch.parameters.size(); at += sizeof(buffer)) {
    std::memcpy(launch.parameters.data() + at, &buffer, sizeof(buffer));
  }
  Options options;
  options.time_limit = std::chrono::milliseconds(2);
  run(program, launch, memory, options);
}

void decode_and_run(std::string_view text) {
  using namespace bitgate::machine;
  try {
    const Program program = Program::load(text);
    for (const std::string& entry : program.entries()) run_briefly(program, entry);
  } catch (const bitgate::InputError&) {
    // Limits of a program or of a launch.
  } catch (const bitgate::Unsupported&) {
  }
}

}  // namespace

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
  decode_and_run(text);
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
