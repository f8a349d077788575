#include "ci/suite/coverage.h"

#include <filesystem>

#include "ci/bitgate/command.h"
#include "conformance/report/terminal.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::command_line {

namespace {

struct Arguments {
  std::string spec;
  std::string ptx;
  std::string html;
  std::vector<std::string> checkpoints;
  suite::CoverageOptions options;
};

int coverage(const Session& session, const Arguments& arguments) {
  suite::CoverageOptions options = arguments.options;
  options.interrupted = session.interrupted;
  options.ptx = arguments.ptx;
  options.checkpoints.assign(arguments.checkpoints.begin(), arguments.checkpoints.end());
  if (!arguments.spec.empty()) options.spec = conformance::parse_spec(arguments.spec);
  if (!arguments.html.empty()) require_writable_file(arguments.html);
  suite::CoverageOutcome outcome;
  {
    std::optional<conformance::Progress> progress;
    options.starts = [&](std::uint64_t cases) { progress.emplace("coverage", cases); };
    options.ran = [&](bool passed) {
      progress->step(passed ? conformance::Verdict::pass : conformance::Verdict::fail);
    };
    outcome = suite::measure_coverage(options);
  }
  if (!arguments.html.empty()) {
    write_file(arguments.html, suite::coverage_html(outcome, std::filesystem::current_path()));
  }
  if (session.json) {
    session.print(suite::coverage_document(outcome));
  } else {
    session.out << suite::coverage_text(outcome);
  }
  return suite::exit_code(outcome);
}

}  // namespace

void add_coverage(CLI::App& program, Session& session) {
  const auto arguments = std::make_shared<Arguments>();
  Command command = add_command(program, session, "coverage",
                                "which PTX instructions and source lines the cases reach",
                                [&session, arguments] { return coverage(session, *arguments); });
  command.option("--kernel", arguments->options.kernel_glob, "GLOB; * without it");
  command.option("--spec", arguments->spec, "one case alone: 'w4a16 m=17 …'; else the gate's");
  command.option("--html", arguments->html,
                 "FILE for a page of annotated source, found from this folder");
  command.option("--ptx", arguments->ptx, "run FILE's code in place of the kernels' own");
  command.repeatable("--checkpoint", arguments->checkpoints, "DIR, as for the gate");
  command.option("--seed", arguments->options.seed, "of the generated cases");
  command.tensor_model(arguments->options.tensor_model);
  command.timeout(arguments->options.time_limit);
}

}  // namespace bitgate::command_line
