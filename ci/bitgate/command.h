#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ci/bitgate/command_line.h"
#include "ci/suite/devices.h"
#include "conformance/check/verdict.h"
#include "conformance/report/terminal.h"

namespace CLI {
class App;
}

namespace bitgate::command_line {

/// What a command works with. Each command adds its options to the parser and an action that runs
/// once the whole line has been understood; an action returns an ExitCode, or throws InputError,
/// Unsupported, suite::NoDevice or kernels::DeviceLost.
struct Session {
  std::ostream& out;
  std::ostream& err;
  const volatile bool* interrupted = nullptr;
  std::string command;  ///< the one that was called
  bool json = false;
  std::function<int()> action;

  conformance::Colour colour() const;
  bool is_interrupted() const { return interrupted != nullptr && *interrupted; }
  void print(const nlohmann::ordered_json& document) const { out << document.dump(1) << '\n'; }
};

/// The options of one command: what commands need of the command-line parser, so that one file
/// alone depends on it. Values keep their defaults until the line names them.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(app) {}

  void required(const std::string& name, std::string& value, const std::string& says);
  void required(const std::string& name, std::vector<std::string>& values, const std::string& says);
  void option(const std::string& name, std::string& value, const std::string& says);
  void option(const std::string& name, std::int64_t& value, const std::string& says);
  void option(const std::string& name, std::uint64_t& value, const std::string& says);
  void option(const std::string& name, std::optional<std::uint64_t>& value,
              const std::string& says);
  /// Seconds, above 0.
  void seconds(const std::string& name, std::optional<double>& value, const std::string& says);
  void repeatable(const std::string& name, std::vector<std::string>& values,
                  const std::string& says);
  void flag(const std::string& name, bool& value, const std::string& says);
  /// Two flags that exclude each other; `value` is true after the first.
  void either(const std::string& yes, const std::string& no, bool& value, const std::string& says);

  /// --device, with the default that help names; the value holds it already.
  void device(suite::DeviceChoice& choice, const std::string& otherwise);
  /// --tensor-model NAME, of the machine.
  void tensor_model(const numeric::TensorModel*& model);
  /// --timeout SECONDS, of one launch.
  void timeout(std::chrono::nanoseconds& limit);

  void footer(const std::string& text);
  /// Not listed by --help, and takes whatever follows.
  void hide();

 private:
  CLI::App& app_;
};

/// A command with --json, whose `action` is taken when it is called.
Command add_command(CLI::App& program, Session& session, const std::string& name,
                    const std::string& says, std::function<int()> action);

void add_list(CLI::App& program, Session& session);
void add_ptx(CLI::App& program, Session& session);
void add_gate(CLI::App& program, Session& session);
void add_run(CLI::App& program, Session& session);
void add_exec(CLI::App& program, Session& session);
void add_fuzz(CLI::App& program, Session& session);
void add_fidelity(CLI::App& program, Session& session);
void add_quantize(CLI::App& program, Session& session);
void add_dequantize(CLI::App& program, Session& session);
void add_lint(CLI::App& program, Session& session);
void add_bench(CLI::App& program, Session& session);
void add_record(CLI::App& program, Session& session);
void add_explore(CLI::App& program, Session& session);
void add_coverage(CLI::App& program, Session& session);
/// Commands that later versions bring: known by name, `unsupported`.
void add_later_commands(CLI::App& program, Session& session);

/// InputError unless a file could be made there; leaves nothing behind.
void require_writable_file(const std::filesystem::path& file);
/// InputError unless the folder is there and can be written, or could be made.
void require_writable_folder(const std::filesystem::path& folder);

/// 0 for pass, 1 for fail, 3 for what has no verdict.
int exit_code(conformance::Verdict verdict);

}  // namespace bitgate::command_line
