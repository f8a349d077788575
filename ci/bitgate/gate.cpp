#include "ci/suite/gate.h"

#include <optional>

#include "ci/bitgate/command.h"
#include "conformance/report/json.h"
#include "conformance/report/terminal.h"

namespace bitgate::command_line {

namespace {

struct Arguments {
  suite::GateOptions options;
  std::string ptx;
  std::vector<std::string> checkpoints;
  std::string report;
  bool no_cache = false;
};

int gate(const Session& session, const Arguments& arguments) {
  suite::GateOptions options = arguments.options;
  options.interrupted = session.interrupted;
  options.ptx = arguments.ptx;
  options.checkpoints.assign(arguments.checkpoints.begin(), arguments.checkpoints.end());
  options.use_cache = !arguments.no_cache;
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
  Command command = add_command(program, session, "gate", "the CI gate: prove every kernel",
                                [&session, arguments] { return gate(session, *arguments); });
  command.device(options.device, "auto");
  command.option("--kernel", options.kernel_glob, "GLOB of kernel names (*)");
  command.option("--ptx", arguments->ptx, "judge FILE's code in place of the kernels' own");
  command.repeatable(
      "--checkpoint", arguments->checkpoints,
      "DIR of real weights, in place of the model that ci/setup fetches; repeatable");
  command.seconds("--budget", options.budget_seconds,
                  "SECONDS: the fixed cases first, then as many generated ones as fit");
  command.option("--report", arguments->report, "DIR for JUnit, JSON and one HTML page");
  command.flag("--no-cache", arguments->no_cache, "judge again what passed before");
  command.tensor_model(options.tensor_model);
  command.flag("--strict-model", options.strict_model,
               "a difference from a published, unmeasured tensor model fails");
  command.option("--seed", options.seed, "of the generated cases (1)");
  command.timeout(options.time_limit);
}

}  // namespace bitgate::command_line
