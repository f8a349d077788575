#include "ci/bitgate/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "reference/support/error.h"

namespace bitgate::command_line {

namespace fs = std::filesystem;

conformance::Colour Session::colour() const {
  return &out == &std::cout ? conformance::colour_for(stdout) : conformance::Colour::off;
}

CLI::App& add_command(CLI::App& program, Session& session, const std::string& name,
                      const std::string& says, std::function<int()> action) {
  CLI::App* command = program.add_subcommand(name, says);
  command->add_flag("--json", session.json, "one JSON document on stdout, nothing else there");
  command->callback([&session, name, action = std::move(action)] {
    session.command = name;
    session.action = action;
  });
  return *command;
}

void add_later_flag(CLI::App& command, const std::string& flags) {
  command
      .add_flag_function(
          flags,
          [flags](std::int64_t) {
            throw Unsupported(fmt::format("{} is not in this version", flags));
          },
          "not in this version")
      ->group("");
}

void add_device(CLI::App& command, suite::DeviceChoice& choice, const std::string& otherwise) {
  command.add_option_function<std::string>(
      "--device", [&choice](const std::string& text) { choice = suite::device_choice(text); },
      fmt::format("auto, machine, cuda or both ({})", otherwise));
}

void add_tensor_model(CLI::App& command, const numeric::TensorModel*& model) {
  command.add_option_function<std::string>(
      "--tensor-model", [&model](const std::string& name) { model = &numeric::tensor_model(name); },
      "NAME: whose tensor cores the machine has");
}

void add_timeout(CLI::App& command, std::chrono::nanoseconds& limit) {
  command.add_option_function<double>(
      "--timeout",
      [&limit](const double& seconds) {
        constexpr double kLongest = 1e6;
        if (!(seconds > 0 && seconds <= kLongest)) {
          throw InputError(fmt::format(
              "--timeout: expected seconds above 0, at most {:g}, found {}", kLongest, seconds));
        }
        limit = std::chrono::nanoseconds(std::llround(seconds * 1e9));
      },
      "seconds that one launch may take (20)");
}

namespace {

void try_to_write_in(const fs::path& folder, const fs::path& asked) {
  const fs::path probe = folder / fmt::format(".bitgate.{}.probe", getpid());
  {
    const std::ofstream out(probe);
    if (!out) throw InputError(fmt::format("{}: cannot be written", asked.string()));
  }
  std::error_code ignored;
  fs::remove(probe, ignored);
}

}  // namespace

void require_writable_file(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) {
    throw InputError(fmt::format("{}: expected a file to write, found a folder", file.string()));
  }
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) {
    throw InputError(fmt::format("{}: cannot be written: there is no folder {}", file.string(),
                                 folder.string()));
  }
  try_to_write_in(folder, file);
}

void require_writable_folder(const fs::path& folder) {
  std::error_code error;
  fs::path there = folder.lexically_normal();
  while (!there.empty() && !fs::exists(there, error)) there = there.parent_path();
  if (there.empty()) there = ".";
  if (!fs::is_directory(there, error)) {
    throw InputError(
        fmt::format("{}: cannot be made: {} is no folder", folder.string(), there.string()));
  }
  try_to_write_in(there, folder);
}

int exit_code(conformance::Verdict verdict) {
  switch (verdict) {
    case conformance::Verdict::pass:
      return kProven;
    case conformance::Verdict::fail:
      return kFailed;
    case conformance::Verdict::untrusted:
    case conformance::Verdict::unsupported:
      break;
  }
  return kNoVerdict;
}

}  // namespace bitgate::command_line
