#include <unistd.h>

#include <cstdio>

#include "ci/bitgate/command.h"
#include "ci/bitgate/list_opcodes.h"
#include "ci/suite/exec_launch.h"
#include "ci/suite/launch_file.h"
#include "reference/support/error.h"

namespace bitgate::command_line {

namespace {

struct Arguments {
  std::string file;
  suite::DeviceChoice device = suite::DeviceChoice::machine;
  const numeric::TensorModel* tensor_model = nullptr;
  std::string ptx;
  std::string out;
  bool lists_opcodes = false;
  bool hazards = false;
  suite::ExecOptions options;
};

/// While it lives, what goes to the process's stdout goes to stderr: the CUDA driver writes there
/// what a kernel prints, and stdout is the document's.
class StdoutToStderr {
 public:
  StdoutToStderr() {
    std::fflush(stdout);
    saved_ = ::dup(STDOUT_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~StdoutToStderr() {
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  StdoutToStderr(const StdoutToStderr&) = delete;
  StdoutToStderr& operator=(const StdoutToStderr&) = delete;

 private:
  int saved_ = -1;
};

suite::ExecResult run(const Arguments& arguments, const suite::ExecOptions& options) {
  const StdoutToStderr redirected;
  const auto device = suite::devices_for(arguments.device, arguments.tensor_model).front().make();
  return suite::exec_launch_file(arguments.file, *device, options);
}

int exec(const Session& session, const Arguments& arguments) {
  if (arguments.lists_opcodes) return list_opcodes(session);
  if (arguments.file.empty()) throw InputError("LAUNCH.json is required");
  suite::ExecOptions options = arguments.options;
  options.launch.interrupted = session.interrupted;
  if (arguments.hazards) options.launch.hazards = machine::hazard::Options::all();
  if (!arguments.ptx.empty()) options.ptx = arguments.ptx;
  if (!arguments.out.empty()) {
    require_writable_folder(arguments.out);
    options.out_folder = arguments.out;
  }
  if (arguments.device != suite::DeviceChoice::machine &&
      arguments.device != suite::DeviceChoice::cuda) {
    throw InputError("--device: expected machine or cuda");
  }
  if (arguments.hazards && arguments.device != suite::DeviceChoice::machine) {
    throw Unsupported("--hazards: they are found on the machine; add --device machine");
  }
  session.out.flush();
  const suite::ExecResult result = run(arguments, options);
  session.err << result.printed;
  if (session.json) {
    session.print(result.document);
  } else {
    session.out << result.text;
  }
  return result.exit_code;
}

}  // namespace

void add_exec(CLI::App& program, Session& session) {
  const auto arguments = std::make_shared<Arguments>();
  Command command = add_command(program, session, "exec", "run any PTX kernel from a launch file",
                                [&session, arguments] { return exec(session, *arguments); });
  command.option("LAUNCH.json", arguments->file, "module, buffers and launches");
  command.device(arguments->device, "machine");
  command.option("--ptx", arguments->ptx, "FILE in place of the launch file's module");
  command.option("--out", arguments->out, "DIR for each output buffer as NAME.bin");
  command.option("--schedule", arguments->options.launch.schedule_seed,
                 "SEED of the machine's order of blocks and warps (0: ascending)");
  command.tensor_model(arguments->tensor_model);
  command.timeout(arguments->options.launch.time_limit);
  command.flag("--hazards", arguments->hazards,
               "look for races, uninitialised data and wrong barriers, on the machine");
  command.flag("--list-opcodes", arguments->lists_opcodes,
               "what the machine makes of each opcode, and whether hardware vectors test it");
  command.footer(suite::launch_file_help());
}

}  // namespace bitgate::command_line
