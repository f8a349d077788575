#include "ci/suite/explore.h"

#include <fmt/format.h>

#include "ci/bitgate/command.h"
#include "ci/suite/replacement_code.h"
#include "conformance/report/terminal.h"
#include "reference/support/error.h"

namespace bitgate::command_line {

namespace {

struct Arguments {
  std::string what;
  std::string kernel;
  std::string ptx;
  suite::ExploreOptions options;
};

bool is_spec(const std::string& what) { return what.starts_with("w4a16 ") || what == "w4a16"; }

int explore(const Session& session, const Arguments& arguments) {
  suite::ExploreOptions options = arguments.options;
  if (options.schedules == 0) throw InputError("--schedules: expected at least 1, found 0");
  if (options.first_seed == 0) {
    throw InputError(
        "--seed: expected at least 1; seed 0 is the plain schedule, which always runs");
  }
  options.launch.interrupted = session.interrupted;
  suite::ExploreOutcome outcome;
  nlohmann::ordered_json explored;
  conformance::Progress progress("explore", options.schedules + 1);
  options.ran = [&] { progress.step(conformance::Verdict::pass); };
  if (is_spec(arguments.what)) {
    if (arguments.kernel.empty()) throw InputError("--kernel: expected the NAME of a kernel");
    const conformance::Spec spec = conformance::parse_spec(arguments.what);
    const kernels::Kernel& kernel = kernels::kernel_named(arguments.kernel);
    const suite::CodeSource code =
        arguments.ptx.empty() ? suite::CodeSource() : suite::CodeSource(arguments.ptx);
    if (code.replaces()) code.among({&kernel});
    outcome = suite::explore(spec, kernel, code.code(), options);
    const auto replay = outcome.replay;
    outcome.replay = [replay, flag = code.replay_flag()](std::uint64_t seed) {
      return replay(seed) + flag;
    };
    explored = {{"spec", conformance::to_string(spec)}, {"kernel", kernel.name}};
  } else {
    if (!arguments.kernel.empty()) {
      throw InputError("--kernel: expected with a SPEC only; a launch file names its own entry");
    }
    outcome = suite::explore(
        arguments.what,
        arguments.ptx.empty() ? std::nullopt : std::optional<std::filesystem::path>(arguments.ptx),
        options);
    explored = {{"launch", arguments.what}};
  }
  if (session.json) {
    nlohmann::ordered_json document = suite::explore_document(outcome, options);
    document.update(explored);
    session.print(document);
  } else {
    session.out << suite::explore_text(outcome, options);
  }
  return suite::exit_code(outcome);
}

}  // namespace

void add_explore(CLI::App& program, Session& session) {
  const auto arguments = std::make_shared<Arguments>();
  Command command = add_command(program, session, "explore",
                                "run one case under many schedules, compare the bits",
                                [&session, arguments] { return explore(session, *arguments); });
  command.required("CASE", arguments->what,
                   "SPEC, one quoted line: w4a16 m=17 …, or LAUNCH.json, any kernel's");
  command.option("--kernel", arguments->kernel, "NAME, with a SPEC");
  command.option("--schedules", arguments->options.schedules,
                 "N besides the plain one (90 have every combination of choices)");
  command.option("--seed", arguments->options.first_seed, "of the first of them; the next follow");
  command.option("--ptx", arguments->ptx, "run FILE's code in place of the kernel's own");
  command.tensor_model(arguments->options.tensor_model);
  command.timeout(arguments->options.launch.time_limit);
}

}  // namespace bitgate::command_line
