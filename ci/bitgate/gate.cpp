#include "ci/suite/gate.h"

#include <fmt/format.h>

#include <optional>

#include "ci/bitgate/command.h"
#include "conformance/report/json.h"
#include "conformance/report/terminal.h"
#include "reference/support/error.h"

namespace bitgate::command_line {

namespace {

struct Arguments {
  suite::GateOptions options;
  std::string report;
};

int gate(const Session& session, const Arguments& arguments) {
  suite::GateOptions options = arguments.options;
  options.interrupted = session.interrupted;
  if (!arguments.report.empty()) require_writable_folder(arguments.report);

  std::optional<conformance::Progress> progress;
  options.starts = [&](std::uint64_t cases) { progress.emplace("gate", cases); };
  options.judged = [&](const conformance::CaseResult& result) {
    if (result.verdict != conformance::Verdict::pass) {
      progress->clear();
      session.err << conformance::terminal_case(result, conformance::Colour::off) << '\n';
    }
    progress->step(result.verdict);
  };
  const suite::GateOutcome outcome = suite::run_gate(options);
  progress.reset();

  if (!arguments.report.empty()) conformance::write_report(outcome.summary, arguments.report);
  if (session.json) {
    session.out << conformance::json_report(outcome.summary, conformance::JsonCases::not_passed);
  } else {
    session.out << conformance::terminal_summary(outcome.summary, session.colour());
  }
  return suite::exit_code(outcome);
}

}  // namespace

void add_gate(CLI::App& program, Session& session) {
  const auto arguments = std::make_shared<Arguments>();
  suite::GateOptions& options = arguments->options;
  CLI::App& command = add_command(program, session, "gate", "the CI gate: prove every kernel",
                                  [&session, arguments] { return gate(session, *arguments); });
  add_device(command, options.device, "auto");
  command.add_option("--kernel", options.kernel_glob, "GLOB of kernel names (*)");
  command.add_option("--ptx", options.ptx, "judge FILE's code in place of the kernels' own");
  command.add_option(
      "--checkpoint", options.checkpoints,
      "DIR of real weights, in place of the model that ci/setup fetches; repeatable");
  command.add_option_function<double>(
      "--budget",
      [&options](const double& seconds) {
        if (!(seconds > 0)) {
          throw InputError(fmt::format("--budget: expected seconds above 0, found {}", seconds));
        }
        options.budget_seconds = seconds;
      },
      "seconds: the fixed cases first, then as many generated ones as fit");
  command.add_option("--report", arguments->report, "DIR for JUnit, JSON and one HTML page");
  command.add_flag_callback(
      "--no-cache", [&options] { options.use_cache = false; }, "judge again what passed before");
  add_tensor_model(command, options.tensor_model);
  command.add_flag("--strict-model", options.strict_model,
                   "a difference from a published, unmeasured tensor model fails");
  command.add_option("--seed", options.seed, "of the generated cases (1)");
  add_timeout(command, options.time_limit);
}

}  // namespace bitgate::command_line
