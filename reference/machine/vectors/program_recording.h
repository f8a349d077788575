#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgate::machine::vectors {

/// What a GPU made of random programs, as `bitgate record programs` writes it, for the tests to
/// replay without one:
///
///     bitgate random programs 1
///     device NVIDIA H200, driver 580.159.03
///     threads 64
///     SEED <tab> SHA-256 of the entry's text <tab> SHA-256 of its output words
///
/// Programs are made from their seeds and the list of forms; where that list changed, the hash of
/// the text says so, and they must be recorded again.
struct ProgramRecording {
  struct Program {
    std::uint64_t seed = 0;
    std::string text_sha256;
    std::string out_sha256;
  };
  std::string device;
  std::uint32_t threads = 0;
  std::vector<Program> programs;
};

/// The entry's name in the text that is hashed.
constexpr std::string_view kProgramEntry = "program";
/// Threads of a program's launch, one block.
constexpr std::uint32_t kProgramThreads = 64;

std::string serialise(const ProgramRecording& recording);
/// InputError when it is not such a file.
ProgramRecording parse_program_recording(std::string_view text);

}  // namespace bitgate::machine::vectors
