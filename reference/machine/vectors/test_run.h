#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "reference/machine/machine.h"

namespace bitgate::machine::vectors {

/// Runs an entry with the parameters (.u64 in, .u64 out) in tests.
struct TestRun {
  std::vector<std::uint64_t> words;
  std::string failure;  ///< empty: ran to its end
};

inline TestRun test_run(const Program& program, const std::string& entry, std::uint32_t threads,
                        std::uint32_t block, std::span<const std::uint64_t> in,
                        std::size_t out_words) {
  GlobalMemory memory;
  const std::uint64_t in_address = memory.allocate(in.size_bytes(), "in");
  const std::uint64_t out_address = memory.allocate(out_words * sizeof(std::uint64_t), "out");
  TestRun result;
  result.words.resize(out_words);
  memory.write(in_address, std::as_bytes(in));
  memory.write(out_address, std::as_bytes(std::span(result.words)));
  Launch launch;
  launch.entry = entry;
  launch.grid = {threads / block, 1, 1};
  launch.block = {block, 1, 1};
  launch.parameters.resize(16);
  std::memcpy(launch.parameters.data(), &in_address, 8);
  std::memcpy(launch.parameters.data() + 8, &out_address, 8);
  const Outcome outcome = run(program, launch, memory, {});
  if (outcome.fault) {
    result.failure = outcome.fault->message + " at " + outcome.fault->site.instruction;
  }
  memory.read(out_address, std::as_writable_bytes(std::span(result.words)));
  return result;
}

}  // namespace bitgate::machine::vectors
