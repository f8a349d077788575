#include "ci/bitgate/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
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

namespace {

void add_seconds(CLI::App& app, const std::string& name, const std::function<void(double)>& take,
                 const std::string& says) {
  app.add_option_function<double>(
      name,
      [name, take](const double& given) {
        constexpr double kLongest = 1e6;
        if (!(given > 0 && given <= kLongest)) {
          throw InputError(fmt::format("{}: expected seconds above 0, at most {:g}, found {}", name,
                                       kLongest, given));
        }
        take(given);
      },
      says);
}

}  // namespace

Command add_command(CLI::App& program, Session& session, const std::string& name,
                    const std::string& says, std::function<int()> action) {
  CLI::App* app = program.add_subcommand(name, says);
  Command command(*app);
  command.flag("--json", session.json, "one JSON document on stdout, nothing else there");
  app->callback([&session, name, action = std::move(action)] {
    session.command = name;
    session.action = action;
  });
  return command;
}

void Command::required(const std::string& name, std::string& value, const std::string& says) {
  app_.add_option(name, value, says)->required();
}

void Command::required(const std::string& name, std::vector<std::string>& values,
                       const std::string& says) {
  app_.add_option(name, values, says)->required();
}

void Command::option(const std::string& name, std::string& value, const std::string& says) {
  app_.add_option(name, value, says);
}

void Command::option(const std::string& name, std::int64_t& value, const std::string& says) {
  app_.add_option(name, value, says);
}

void Command::option(const std::string& name, std::uint64_t& value, const std::string& says) {
  app_.add_option(name, value, says);
}

void Command::option(const std::string& name, std::optional<std::uint64_t>& value,
                     const std::string& says) {
  app_.add_option_function<std::uint64_t>(
      name, [&value](const std::uint64_t& given) { value = given; }, says);
}

void Command::seconds(const std::string& name, std::optional<double>& value,
                      const std::string& says) {
  add_seconds(app_, name, [&value](double given) { value = given; }, says);
}

void Command::repeatable(const std::string& name, std::vector<std::string>& values,
                         const std::string& says) {
  app_.add_option(name, values, says)->expected(1)->take_all();
}

void Command::flag(const std::string& name, bool& value, const std::string& says) {
  app_.add_flag(name, value, says);
}

void Command::either(const std::string& yes, const std::string& no, bool& value,
                     const std::string& says) {
  CLI::Option* first = app_.add_flag_callback(yes, [&value] { value = true; }, says);
  app_.add_flag_callback(no, [&value] { value = false; }, "not " + yes)->excludes(first);
}

void Command::device(suite::DeviceChoice& choice, const std::string& otherwise) {
  app_.add_option_function<std::string>(
      "--device", [&choice](const std::string& text) { choice = suite::device_choice(text); },
      fmt::format("auto, machine, cuda or both ({})", otherwise));
}

void Command::tensor_model(const numeric::TensorModel*& model) {
  app_.add_option_function<std::string>(
      "--tensor-model", [&model](const std::string& name) { model = &numeric::tensor_model(name); },
      "NAME: whose tensor cores the machine has");
}

void Command::timeout(std::chrono::nanoseconds& limit) {
  add_seconds(
      app_, "--timeout",
      [&limit](double given) { limit = std::chrono::nanoseconds(std::llround(given * 1e9)); },
      "seconds that one launch may take (20)");
}

void Command::footer(const std::string& text) { app_.footer(text); }

void Command::hide() { app_.allow_extras()->group(""); }

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
