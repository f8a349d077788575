#include <fmt/format.h>

#include "ci/bitgate/command.h"
#include "ci/bitgate/save_case.h"
#include "ci/suite/replacement_code.h"
#include "conformance/report/json.h"
#include "conformance/report/terminal.h"
#include "conformance/run_case.h"
#include "reference/support/error.h"

namespace bitgate::command_line {

using conformance::CaseResult;
using conformance::Spec;
using conformance::Verdict;

namespace {

struct Arguments {
  std::string spec;
  std::string kernel;
  suite::DeviceChoice device = suite::DeviceChoice::machine;
  const numeric::TensorModel* tensor_model = nullptr;
  bool strict_model = false;
  bool hazards = false;
  std::string ptx;
  std::string save;
  std::chrono::nanoseconds time_limit = std::chrono::seconds(20);
};

/// The kernel asked for, or the plan's choice for the device.
const kernels::Kernel& kernel_for(const Arguments& arguments, const Spec& spec,
                                  const suite::DeviceKind& device) {
  if (!arguments.kernel.empty()) return kernels::kernel_named(arguments.kernel);
  const int multiprocessors = spec.sms > 0 ? static_cast<int>(spec.sms) : device.multiprocessors;
  return kernels::w4a16::plan(conformance::shape_of(spec), multiprocessors);
}

CaseResult run_on(const Session& session, const Arguments& arguments, const Spec& spec,
                  const suite::DeviceKind& kind, const suite::CodeSource& code) {
  const kernels::Kernel& kernel = kernel_for(arguments, spec, kind);
  if (code.replaces()) code.among({&kernel});
  std::vector<std::uint16_t> output;
  conformance::CaseOptions options;
  options.launch.time_limit = arguments.time_limit;
  options.launch.interrupted = session.interrupted;
  const bool hazards = arguments.hazards && kind.kind == "machine";
  if (hazards) options.launch.hazards = machine::hazard::Options::all();
  options.code = code.code();
  options.strict_model = arguments.strict_model;
  options.save_output = &output;
  const auto device = kind.make();
  CaseResult result = conformance::run_case(spec, kernel, *device, options);
  result.replay += code.replay_flag();
  if (hazards) result.replay += " --hazards";
  if (arguments.tensor_model != nullptr && kind.kind == "machine") {
    result.replay += fmt::format(" --tensor-model {}", arguments.tensor_model->name);
  }
  if (!arguments.save.empty()) save_case(arguments.save, spec, kernel, output);
  return result;
}

int run_spec(const Session& session, const Arguments& arguments) {
  const Spec spec = conformance::parse_spec(arguments.spec);
  if (!arguments.kernel.empty()) kernels::kernel_named(arguments.kernel);
  const suite::CodeSource code =
      arguments.ptx.empty() ? suite::CodeSource() : suite::CodeSource(arguments.ptx);
  if (!arguments.save.empty()) require_writable_file(arguments.save);
  if (arguments.hazards && arguments.device == suite::DeviceChoice::cuda) {
    throw Unsupported("--hazards: they are found on the machine; add --device machine or both");
  }
  const auto devices = suite::devices_for(arguments.device, arguments.tensor_model);
  if (!arguments.save.empty() && devices.size() > 1) {
    throw InputError("--save: expected one device, found both; add --device machine or cuda");
  }

  conformance::RunSummary summary;
  summary.device = suite::name_of(devices);
  summary.seed = spec.seed;
  Verdict verdict = Verdict::pass;
  for (const suite::DeviceKind& kind : devices) {
    CaseResult result = run_on(session, arguments, spec, kind, code);
    verdict = conformance::worse(verdict, result.verdict);
    if (result.coverage) summary.kernels[result.kernel].exact_coverage = result.exact_coverage;
    summary.add(std::move(result), "run");
  }
  if (session.json) {
    session.out << conformance::json_report(summary, conformance::JsonCases::all);
  } else {
    for (const CaseResult& result : summary.cases) {
      session.out << conformance::terminal_case(result, session.colour());
    }
  }
  if (session.is_interrupted() && verdict != Verdict::fail) return kNoVerdict;
  return exit_code(verdict);
}

}  // namespace

void add_run(CLI::App& program, Session& session) {
  const auto arguments = std::make_shared<Arguments>();
  Command command = add_command(program, session, "run", "judge one case",
                                [&session, arguments] { return run_spec(session, *arguments); });
  command.required("SPEC", arguments->spec, "one quoted line: w4a16 m=17 k=1536 n=2056 …");
  command.option("--kernel", arguments->kernel, "NAME; without it, the plan's choice");
  command.device(arguments->device, "machine");
  command.option("--ptx", arguments->ptx, "judge FILE's code in place of the kernel's own");
  command.option("--save", arguments->save,
                 "FILE.safetensors: inputs, output, reference and bound, for other tools");
  command.tensor_model(arguments->tensor_model);
  command.flag("--strict-model", arguments->strict_model,
               "a difference from a published, unmeasured tensor model fails");
  command.timeout(arguments->time_limit);
  command.flag("--hazards", arguments->hazards,
               "look for races, uninitialised data and wrong barriers, on the machine");
  command.footer(conformance::spec_help());
}

}  // namespace bitgate::command_line
