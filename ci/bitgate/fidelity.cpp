#include "ci/suite/fidelity.h"

#include <fmt/format.h>

#include <optional>

#include "ci/bitgate/command.h"
#include "conformance/report/terminal.h"
#include "conformance/run_case.h"
#include "reference/support/error.h"

namespace bitgate::command_line {

using nlohmann::ordered_json;

namespace {

void print_document(const Session& session, const suite::FidelityOutcome& outcome) {
  ordered_json document = {{"schema", "bitgate.fidelity/1"},
                           {"device", "both"},
                           {"tensor_model", outcome.tensor_model},
                           {"seed", outcome.seed},
                           {"cases", outcome.cases},
                           {"differing", outcome.differences.size()},
                           {"kernels", outcome.kernels},
                           {"classes", outcome.classes},
                           {"differences", ordered_json::array()}};
  for (const auto& difference : outcome.differences) {
    document["differences"].push_back(
        {{"spec", conformance::to_string(difference.spec)},
         {"kernel", difference.kernel},
         {"machine", difference.machine},
         {"cuda", difference.cuda},
         {"replay", conformance::replay_command(difference.spec, difference.kernel, "both")}});
  }
  session.print(document);
}

void print_table(const Session& session, const suite::FidelityOutcome& outcome) {
  session.out << fmt::format("machine ({}) against {}\n", outcome.tensor_model,
                             outcome.device_description);
  for (const auto& [name, count] : outcome.classes) {
    session.out << fmt::format("  {:24} {:8}\n", name, count);
  }
  for (const auto& [name, count] : outcome.kernels) {
    session.out << fmt::format("  {:40} {:8}\n", name, count);
  }
  for (const auto& difference : outcome.differences) {
    session.out << fmt::format(
        "differs: machine {}, cuda {}\n  {}\n", difference.machine, difference.cuda,
        conformance::replay_command(difference.spec, difference.kernel, "both"));
  }
  session.out << fmt::format("{} cases, {} differ\n", outcome.cases, outcome.differences.size());
}

int compare_devices(const Session& session, suite::FidelityOptions options) {
  if (options.cases == 0) throw InputError("--cases: expected at least 1, found 0");
  options.interrupted = session.interrupted;
  kernels::match_kernels(options.kernel_glob);
  suite::FidelityOutcome outcome;
  {
    conformance::Progress progress("fidelity", options.cases);
    options.compared = [&] { progress.step(conformance::Verdict::pass); };
    outcome = suite::fidelity(options);
  }
  session.err << fmt::format("bitgate: {} cases in {:.1f} s\n", outcome.cases, outcome.seconds);
  if (session.json) {
    print_document(session, outcome);
  } else {
    print_table(session, outcome);
  }
  if (!outcome.differences.empty()) return kFailed;
  return outcome.complete ? kProven : kNoVerdict;
}

}  // namespace

void add_fidelity(CLI::App& program, Session& session) {
  const auto options = std::make_shared<suite::FidelityOptions>();
  Command command =
      add_command(program, session, "fidelity", "the same cases on machine and cuda, bits compared",
                  [&session, options] { return compare_devices(session, *options); });
  command.option("--cases", options->cases, "spread evenly over the kernels (1000)");
  command.option("--kernel", options->kernel_glob, "GLOB of kernel names (*)");
  command.option("--seed", options->seed, "of the cases (1)");
}

}  // namespace bitgate::command_line
