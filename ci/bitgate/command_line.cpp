#include "ci/bitgate/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <new>

#include "ci/bitgate/command.h"
#include "ci/suite/devices.h"
#include "reference/support/error.h"

namespace bitgate::command_line {

namespace {

volatile bool interrupted = false;

/// The first one ends the run after the case at hand; the second ends the program.
void on_interrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

void add_all(CLI::App& program, Session& session) {
  add_list(program, session);
  add_ptx(program, session);
  add_gate(program, session);
  add_run(program, session);
  add_exec(program, session);
  add_fuzz(program, session);
  add_fidelity(program, session);
  add_lint(program, session);
  add_quantize(program, session);
  add_dequantize(program, session);
  add_bench(program, session);
  add_record(program, session);
  add_explore(program, session);
  add_coverage(program, session);
  add_later_commands(program, session);
}

void require_known_command(const CLI::App& program, const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    throw InputError("expected a command; bitgate --help lists them");
  }
  const std::string& name = arguments.front();
  if (name.starts_with('-')) return;
  const auto commands = program.get_subcommands([](const CLI::App*) { return true; });
  const bool known = std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    return command->get_name() == name;
  });
  if (!known) {
    throw InputError(fmt::format("unknown command \"{}\"; bitgate --help lists them", name));
  }
}

/// CLI11's messages, in one line.
std::string one_line(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message;
}

int no_verdict(Session& session, const std::vector<std::string>& arguments, const char* key,
               const std::string& reason) {
  const bool json =
      session.json || std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  if (json) {
    session.print(
        {{"schema", "bitgate.no_verdict/1"}, {"command", arguments.front()}, {key, reason}});
  }
  session.err << "bitgate: " << key << ": " << reason << '\n';
  return kNoVerdict;
}

int run_session(CLI::App& program, Session& session, const std::vector<std::string>& arguments) {
  try {
    require_known_command(program, arguments);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    program.parse(reversed);
    return session.action ? session.action() : kBadInput;
  } catch (const CLI::CallForHelp&) {
    session.out << program.help();
    return kProven;
  } catch (const CLI::ParseError& error) {
    session.err << "bitgate: " << one_line(error.what()) << '\n';
    return kBadInput;
  } catch (const InputError& error) {
    session.err << "bitgate: " << error.what() << '\n';
    return kBadInput;
  } catch (const Unsupported& error) {
    return no_verdict(session, arguments, "unsupported", error.what());
  } catch (const suite::NoDevice& error) {
    return no_verdict(session, arguments, "no_device", error.what());
  } catch (const kernels::DeviceLost& error) {
    return no_verdict(session, arguments, "device_lost", error.what());
  } catch (const std::bad_alloc&) {
    return no_verdict(session, arguments, "out_of_memory", "not enough memory for what was asked");
  } catch (const std::exception& error) {
    return no_verdict(session, arguments, "error", error.what());
  }
}

}  // namespace

int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  CLI::App program("bitgate: proves that low-bit LLM kernels compute what they claim", "bitgate");
  program.require_subcommand(1);
  program.footer(
      "Exit: 0 proven, 1 a kernel failed, 2 bad usage or input, 3 no verdict.\n"
      "bitgate COMMAND --help says more.");
  Session session{.out = out, .err = err, .interrupted = &interrupted, .command = {}, .action = {}};
  add_all(program, session);
  const int code = run_session(program, session, arguments);
  out.flush();
  return code;
}

int run(int argc, char** argv) {
  std::signal(SIGINT, on_interrupt);
  return run(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}

}  // namespace bitgate::command_line
