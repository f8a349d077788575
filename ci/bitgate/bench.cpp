#include <fmt/format.h>

#include "ci/bitgate/command.h"
#include "ci/suite/bench_w4a16.h"

namespace bitgate::command_line {

namespace {

int bench(const Session& session, const std::vector<std::string>& lines,
          const std::vector<std::string>& kernels) {
  std::vector<conformance::Spec> specs;
  for (const std::string& line : lines) specs.push_back(conformance::parse_spec(line));
  for (const std::string& glob : kernels) bitgate::kernels::match_kernels(glob);
  const suite::DeviceKind cuda = suite::devices_for(suite::DeviceChoice::cuda, nullptr).front();
  const auto device = cuda.make();
  suite::BenchW4a16Options options;
  options.kernels = kernels;
  options.before = [&](const conformance::Spec& spec) {
    session.err << "bitgate: timing " << conformance::to_string(spec) << '\n';
  };
  const auto rows = suite::bench_w4a16(*device, specs, options);
  session.out << (session.json ? suite::bench_json(rows, cuda.description)
                               : suite::bench_text(rows));
  return kProven;
}

}  // namespace

void add_bench(CLI::App& program, Session& session) {
  const auto specs = std::make_shared<std::vector<std::string>>();
  const auto globs = std::make_shared<std::vector<std::string>>();
  Command command =
      add_command(program, session, "bench", "time on cuda beside a plain read of the same bytes",
                  [&session, specs, globs] { return bench(session, *specs, *globs); });
  command.required("SPEC", *specs, "quoted spec lines; bitgate run --help says how");
  command.repeatable("--kernel", *globs, "GLOB timed beside the plan's choice; repeatable");
}

}  // namespace bitgate::command_line
