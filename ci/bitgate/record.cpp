#include "ci/bitgate/command.h"
#include "ci/suite/record_programs.h"
#include "ci/suite/record_vectors.h"
#include "reference/machine/vectors/recording.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::command_line {

namespace {

struct Arguments {
  std::string what;
  std::string out;
  suite::DeviceChoice device = suite::DeviceChoice::cuda;
  std::uint64_t seed = 1;
  std::uint64_t rounds = 8;
  std::uint64_t count = 20000;
};

int record_vectors(const Session& session, const Arguments& arguments, suite::EntryRunner& hardware,
                   const suite::DeviceKind& machine) {
  suite::RecordVectorsOptions options;
  options.seed = arguments.seed;
  options.rounds = static_cast<std::uint32_t>(arguments.rounds);
  options.make_machine = machine.make;
  options.interrupted = session.interrupted;
  const suite::RecordVectorsResult result = suite::record_vectors(hardware, options);
  if (session.is_interrupted()) return kNoVerdict;
  write_file(arguments.out, machine::vectors::serialise(result.recording));
  session.out << suite::describe(result);
  bool failed = false;
  bool complete = true;
  for (const suite::FormOutcome& form : result.forms) {
    failed = failed || form.differing != 0;
    complete = complete && form.refused.empty() && form.unsupported.empty();
  }
  if (failed) return kFailed;
  return complete ? kProven : kNoVerdict;
}

int record_programs(const Session& session, const Arguments& arguments,
                    suite::EntryRunner& hardware, const suite::DeviceKind& machine) {
  suite::RecordProgramsOptions options;
  options.first_seed = arguments.seed;
  options.count = arguments.count;
  options.make_machine = machine.make;
  options.interrupted = session.interrupted;
  const suite::RecordProgramsResult result = suite::record_programs(hardware, options);
  if (session.is_interrupted()) return kNoVerdict;
  write_file(arguments.out, machine::vectors::serialise(result.recording));
  session.out << suite::describe(result);
  for (const suite::ProgramDifference& difference : result.differences) {
    if (difference.rule.empty()) return kFailed;
  }
  return result.not_run.empty() ? kProven : kNoVerdict;
}

int record(const Session& session, const Arguments& arguments) {
  const bool programs = arguments.what == "programs";
  if (!programs && arguments.what != "vectors") {
    throw InputError("record: expected vectors or programs, found \"" + arguments.what + "\"");
  }
  if (arguments.device != suite::DeviceChoice::machine &&
      arguments.device != suite::DeviceChoice::cuda) {
    throw InputError("--device: expected machine or cuda");
  }
  if (arguments.out.empty()) throw InputError("record: expected --out FILE");
  require_writable_file(arguments.out);
  const auto devices = suite::devices_for(arguments.device, nullptr);
  suite::EntryRunner hardware(devices.front().make());
  const auto machine = suite::devices_for(suite::DeviceChoice::machine, nullptr).front();
  return programs ? record_programs(session, arguments, hardware, machine)
                  : record_vectors(session, arguments, hardware, machine);
}

}  // namespace

void add_record(CLI::App& program, Session& session) {
  const auto arguments = std::make_shared<Arguments>();
  Command command = add_command(
      program, session, "record",
      "for maintainers: what a GPU gives, compared with the machine and kept for the tests",
      [&session, arguments] { return record(session, *arguments); });
  command.required("WHAT", arguments->what,
                   "vectors: every instruction form on drawn inputs; programs: random programs");
  command.option("--out", arguments->out, "FILE to write, which the machine's tests replay");
  command.device(arguments->device, "cuda");
  command.option("--seed", arguments->seed, "of the inputs or of the first program (1)");
  command.option("--rounds", arguments->rounds,
                 "vectors: further seeds compared and not stored (8)");
  command.option("--count", arguments->count, "programs: how many (20000)");
}

}  // namespace bitgate::command_line
