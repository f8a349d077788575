#include <fmt/format.h>

#include "ci/bitgate/command.h"
#include "ci/suite/workspace.h"
#include "conformance/report/json.h"
#include "conformance/report/terminal.h"
#include "fuzz/corpus.h"
#include "fuzz/fuzz_loop.h"
#include "reference/support/error.h"

namespace bitgate::command_line {

using conformance::CaseResult;
using conformance::Verdict;

namespace {

struct Arguments {
  std::string kernel_glob = "*";
  suite::DeviceChoice device = suite::DeviceChoice::machine;
  std::optional<std::uint64_t> cases;
  std::optional<double> seconds;
  std::uint64_t seed = 1;
  std::chrono::nanoseconds time_limit = std::chrono::seconds(20);
};

/// Keeps the shrunk case in the corpus, and says so.
void keep(const Session& session, const fuzz::FuzzFailure& failure, const std::string& device,
          std::uint64_t seed, conformance::RunSummary& summary) {
  const auto folder = suite::corpus_folder();
  const fuzz::CorpusCase found{
      failure.shrunk_spec, failure.kernel->name,
      fmt::format("found by fuzz --seed {} on {}: case {}", seed, device, failure.index)};
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    session.err << "bitgate: no corpus folder here; the case: " << fuzz::corpus_line(found) << '\n';
    return;
  }
  fuzz::add_to_corpus(folder / "found.txt", found);
  summary.notes.push_back(
      fmt::format("kept in {}", (folder / "found.txt").lexically_normal().string()));
}

void add(const Session& session, const fuzz::FuzzOutcome& outcome, const std::string& device,
         std::uint64_t seed, conformance::RunSummary& summary) {
  for (const auto& [name, count] : outcome.classes.total()) summary.classes[name] += count;
  summary.notes.push_back(fmt::format("{}: {} cases", device, outcome.cases));
  session.err << fmt::format("bitgate: {}: {} cases in {:.1f} s, {:.1f} cases/s\n", device,
                             outcome.cases, outcome.seconds,
                             static_cast<double>(outcome.cases) / outcome.seconds);
  if (!outcome.failure) return;
  const fuzz::FuzzFailure& failure = *outcome.failure;
  summary.notes.push_back(fmt::format("found as case {}: {} --kernel {}; shrunk in {} runs",
                                      failure.index, failure.found.spec, failure.kernel->name,
                                      failure.shrink_runs));
  summary.cases.push_back(failure.shrunk);
  keep(session, failure, device, seed, summary);
}

int search(const Session& session, const Arguments& arguments) {
  if (arguments.cases && arguments.seconds) {
    throw InputError("expected --cases or --seconds, found both");
  }
  fuzz::FuzzOptions options;
  options.kernels = kernels::match_kernels(arguments.kernel_glob);
  options.seed = arguments.seed;
  options.cases = arguments.cases;
  options.seconds = arguments.seconds;
  if (!options.cases && !options.seconds) options.seconds = 60;
  options.case_options.launch.time_limit = arguments.time_limit;
  options.case_options.launch.interrupted = session.interrupted;
  options.interrupted = [&] { return session.is_interrupted(); };
  const auto devices = suite::devices_for(arguments.device, nullptr);

  conformance::RunSummary summary;
  summary.device = suite::name_of(devices);
  summary.seed = arguments.seed;
  bool interrupted = false;
  {
    conformance::Progress progress("fuzz", arguments.cases ? *arguments.cases * devices.size() : 0);
    options.ran = [&](const CaseResult& result) {
      summary.counts.add(result.verdict);
      summary.kernels[result.kernel].counts.add(result.verdict);
      ++summary.suites["generated"];
      progress.step(result.verdict);
    };
    for (const suite::DeviceKind& device : devices) {
      options.threads = device.threads;
      const fuzz::FuzzOutcome outcome = fuzz::fuzz(options, device.make);
      interrupted = interrupted || outcome.interrupted;
      progress.clear();
      add(session, outcome, device.kind, arguments.seed, summary);
    }
  }
  if (session.json) {
    session.out << conformance::json_report(summary, conformance::JsonCases::all);
  } else {
    session.out << conformance::terminal_summary(summary, session.colour());
  }
  if (summary.counts.fail + summary.counts.unsupported > 0) return kFailed;
  const bool proven = summary.counts.untrusted == 0 && summary.counts.pass > 0 && !interrupted;
  return proven ? kProven : kNoVerdict;
}

}  // namespace

void add_fuzz(CLI::App& program, Session& session) {
  const auto arguments = std::make_shared<Arguments>();
  Command command = add_command(program, session, "fuzz", "search for a failing case",
                                [&session, arguments] { return search(session, *arguments); });
  command.option("--kernel", arguments->kernel_glob, "GLOB of kernel names (*)");
  command.device(arguments->device, "machine");
  command.option("--cases", arguments->cases, "end after as many cases");
  command.seconds("--seconds", arguments->seconds, "end after this long (60)");
  command.option("--seed", arguments->seed, "of the cases (1)");
  command.timeout(arguments->time_limit);
  command.footer(
      "Ends at the first failing case, shrinks it and keeps it in fuzz/corpus/found.txt, which the "
      "gate runs first.");
}

}  // namespace bitgate::command_line
