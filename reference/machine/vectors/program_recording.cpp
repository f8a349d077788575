#include "reference/machine/vectors/program_recording.h"

#include <fmt/format.h>

#include <sstream>

#include "reference/support/error.h"

namespace bitgate::machine::vectors {

namespace {

constexpr std::string_view kMagic = "bitgate random programs 1";

}  // namespace

std::string serialise(const ProgramRecording& recording) {
  std::string text =
      fmt::format("{}\ndevice {}\nthreads {}\n", kMagic, recording.device, recording.threads);
  for (const auto& program : recording.programs) {
    text += fmt::format("{}\t{}\t{}\n", program.seed, program.text_sha256, program.out_sha256);
  }
  return text;
}

ProgramRecording parse_program_recording(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string line;
  const auto after = [&](const std::string& key) {
    if (!std::getline(in, line) || !line.starts_with(key)) {
      throw InputError(fmt::format("recorded programs: expected \"{}\", found \"{}\"", key, line));
    }
    return line.substr(key.size());
  };
  after(std::string(kMagic));
  ProgramRecording recording;
  recording.device = after("device ");
  std::istringstream(after("threads ")) >> recording.threads;
  while (std::getline(in, line)) {
    std::istringstream parts(line);
    ProgramRecording::Program program;
    if (!(parts >> program.seed >> program.text_sha256 >> program.out_sha256)) {
      throw InputError("recorded programs: expected a seed and two hashes, found \"" + line + "\"");
    }
    recording.programs.push_back(std::move(program));
  }
  return recording;
}

}  // namespace bitgate::machine::vectors
