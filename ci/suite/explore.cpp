#include "ci/suite/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "ci/suite/exec_launch.h"
#include "conformance/check/compare.h"
#include "conformance/check/execution.h"
#include "conformance/problem/problem.h"
#include "conformance/run_case.h"
#include "fuzz/case_pool.h"
#include "reference/machine/schedule/schedule.h"
#include "reference/support/error.h"
#include "reference/support/sha256.h"

namespace bitgate::suite {

namespace {

using Status = kernels::LaunchOutcome::Status;
using Outputs = std::map<std::string, std::vector<std::byte>>;

/// What one schedule gave.
struct Run {
  std::string verdict = "pass";  ///< "fail", "unsupported", "untrusted"
  std::string message;
  Outputs outputs;
};

using RunSeed = std::function<Run(std::uint64_t seed)>;

constexpr std::uint64_t kWord = 4;

/// How the value at a differing byte of a buffer is told.
using Describe = std::function<void(Divergence&, std::span<const std::byte> first,
                                    std::span<const std::byte> second)>;

std::string hex(std::span<const std::byte> bytes) {
  std::string text = "0x";
  for (std::size_t i = bytes.size(); i-- > 0;) {  // little-endian
    text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  return text;
}

void describe_word(Divergence& divergence, std::span<const std::byte> first,
                   std::span<const std::byte> second) {
  const std::uint64_t begin = divergence.offset / kWord * kWord;
  divergence.bytes = std::min(kWord, first.size() - begin);
  divergence.offset = begin;
  divergence.first_value = hex(first.subspan(begin, divergence.bytes));
  divergence.second_value = hex(second.subspan(begin, divergence.bytes));
}

std::optional<Divergence> compare(const Outputs& first, const Outputs& second,
                                  const Describe& describe) {
  for (const auto& [name, bytes] : first) {
    const std::vector<std::byte>& others = second.at(name);
    const auto [one, other] = std::ranges::mismatch(bytes, others);
    if (one == bytes.end()) continue;
    Divergence divergence;
    divergence.buffer = name;
    divergence.offset = static_cast<std::uint64_t>(one - bytes.begin());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      divergence.different_bytes += bytes[i] != others[i] ? 1U : 0U;
    }
    describe(divergence, bytes, others);
    return divergence;
  }
  return std::nullopt;
}

std::string hash_of(const Outputs& outputs) {
  std::string all;
  for (const auto& [name, bytes] : outputs) all += name + ' ' + sha256(bytes) + '\n';
  return sha256(std::as_bytes(std::span(all)));
}

bool interrupted(const ExploreOptions& options) {
  return options.launch.interrupted != nullptr && *options.launch.interrupted;
}

/// The plain schedule first, alone: what is wrong with it, is wrong with the case.
ExploreOutcome explore_seeds(const ExploreOptions& options,
                             const std::function<RunSeed()>& make_worker,
                             const Describe& describe) {
  ExploreOutcome outcome;
  const Run plain = make_worker()(0);
  if (options.ran) options.ran();
  outcome.ran = 1;
  if (plain.verdict != "pass") {
    outcome.verdict = plain.verdict;
    outcome.message = plain.message;
    if (plain.verdict == "fail") outcome.failures.push_back({0, plain.message});
    return outcome;
  }
  std::set<std::string> hashes{hash_of(plain.outputs)};
  outcome.out_sha256 = *hashes.begin();

  const std::function<std::function<Run(std::size_t)>()> worker = [&] {
    return [&options, run = make_worker()](std::size_t i) { return run(options.first_seed + i); };
  };
  const std::function<void(std::size_t, Run)> done = [&](std::size_t i, const Run& run) {
    const std::uint64_t seed = options.first_seed + i;
    if (options.ran) options.ran();
    if (run.verdict == "untrusted") return;
    ++outcome.ran;
    if (run.verdict == "unsupported") {
      outcome.message = run.message;
      return;
    }
    if (run.verdict == "fail") {
      outcome.failures.push_back({seed, run.message});
      return;
    }
    hashes.insert(hash_of(run.outputs));
    if (outcome.divergence) return;
    outcome.divergence = compare(plain.outputs, run.outputs, describe);
    if (outcome.divergence) outcome.divergence->second_seed = seed;
  };
  fuzz::run_in_order<Run>(
      options.schedules, fuzz::host_threads(), worker, [&] { return interrupted(options); }, done);
  outcome.distinct = hashes.size();
  if (outcome.divergence || !outcome.failures.empty()) {
    outcome.verdict = "fail";
  } else if (!outcome.message.empty()) {
    outcome.verdict = "unsupported";
  } else if (outcome.ran != options.schedules + 1) {
    outcome.verdict = "untrusted";
    outcome.message = "ended early";
  }
  return outcome;
}

Run run_of(const conformance::Execution& execution) {
  Run run;
  if (execution.refused) {
    run.verdict = "fail";
    run.message = "the call was refused inside the kernel's domain: " + *execution.refused;
    return run;
  }
  switch (execution.outcome.status) {
    case Status::completed: {
      const auto bytes = std::as_bytes(std::span(execution.output));
      run.outputs["c"] = {bytes.begin(), bytes.end()};
      return run;
    }
    case Status::unsupported:
      run.verdict = "unsupported";
      break;
    case Status::lost:
      run.verdict = "untrusted";
      break;
    case Status::fault:
    case Status::timeout:
    case Status::refused:
      run.verdict = "fail";
      break;
  }
  run.message = execution.outcome.message;
  return run;
}

const numeric::TensorModel& model_of(const ExploreOptions& options) {
  return options.tensor_model != nullptr ? *options.tensor_model : numeric::tensor_model("hopper");
}

}  // namespace

ExploreOutcome explore(const conformance::Spec& spec, const kernels::Kernel& kernel,
                       const kernels::Code* code, const ExploreOptions& options) {
  if (spec.schedule != 0) {
    throw InputError("spec: schedule: explore tries many; leave the key out");
  }
  const auto replay = [spec, name = kernel.name](std::uint64_t seed) {
    conformance::Spec one = spec;
    one.schedule = seed;
    return conformance::replay_command(one, name, "machine");
  };
  ExploreOutcome outcome;
  if (const auto reason = kernels::w4a16::outside_domain(kernel, conformance::shape_of(spec))) {
    outcome.verdict = "unsupported";
    outcome.message = *reason;
    outcome.replay = replay;
    return outcome;
  }
  const conformance::Problem problem = conformance::materialise(spec);
  const auto make_worker = [&]() -> RunSeed {
    return [&, device = std::shared_ptr<kernels::Device>(
                   kernels::make_machine_device(model_of(options)))](std::uint64_t seed) {
      conformance::ExecutionOptions execution;
      execution.launch = options.launch;
      execution.launch.schedule_seed = seed;
      execution.code = code;
      execution.rerun = false;
      return run_of(conformance::execute(problem, kernel, *device, execution));
    };
  };
  const auto describe = [&](Divergence& divergence, std::span<const std::byte> first,
                            std::span<const std::byte> second) {
    constexpr std::uint64_t kElement = 2;
    const std::uint64_t index = divergence.offset / kElement;
    divergence.offset = index * kElement;
    divergence.bytes = kElement;
    divergence.row = static_cast<std::int64_t>(index) / spec.n;
    divergence.column = static_cast<std::int64_t>(index) % spec.n;
    const auto value = [&](std::span<const std::byte> bytes) {
      const auto bits =
          static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[divergence.offset]) |
                                     std::to_integer<unsigned>(bytes[divergence.offset + 1]) << 8U);
      return conformance::bits_text(spec.type, bits);
    };
    divergence.first_value = value(first);
    divergence.second_value = value(second);
  };
  outcome = explore_seeds(options, make_worker, describe);
  outcome.replay = replay;
  return outcome;
}

ExploreOutcome explore(const std::filesystem::path& launch_file,
                       const std::optional<std::filesystem::path>& ptx,
                       const ExploreOptions& options) {
  const auto make_worker = [&]() -> RunSeed {
    return [&](std::uint64_t seed) {
      Run run;
      const auto device = kernels::make_machine_device(model_of(options));
      ExecOptions exec;
      exec.ptx = ptx;
      exec.launch = options.launch;
      exec.launch.schedule_seed = seed;
      exec.save_outputs = &run.outputs;
      const ExecResult result = exec_launch_file(launch_file, *device, exec);
      run.verdict = result.document.at("verdict");
      run.message = result.document.value("message", "");
      if (run.outputs.empty()) {
        throw InputError(fmt::format("{}: expected a buffer with \"output\": true, found none",
                                     launch_file.string()));
      }
      return run;
    };
  };
  ExploreOutcome outcome = explore_seeds(options, make_worker, &describe_word);
  outcome.replay = [launch_file, ptx](std::uint64_t seed) {
    return fmt::format("bitgate exec {}{} --schedule {}", launch_file.string(),
                       ptx ? " --ptx " + ptx->string() : "", seed);
  };
  return outcome;
}

nlohmann::ordered_json explore_document(const ExploreOutcome& outcome,
                                        const ExploreOptions& options) {
  using Json = nlohmann::ordered_json;
  const auto schedule = [](std::uint64_t seed) {
    return machine::describe(machine::Schedule::of(seed));
  };
  Json document{{"schema", "bitgate.explore/1"}, {"device", "machine"},
                {"verdict", outcome.verdict},    {"schedules", options.schedules},
                {"seed", options.first_seed},    {"ran", outcome.ran},
                {"distinct", outcome.distinct},  {"out_sha256", outcome.out_sha256},
                {"divergence", nullptr},         {"failures", Json::array()}};
  if (!outcome.message.empty()) document["message"] = outcome.message;
  if (outcome.divergence) {
    const Divergence& d = *outcome.divergence;
    const auto side = [&](std::uint64_t seed, const std::string& value) {
      return Json{{"seed", seed},
                  {"schedule", schedule(seed)},
                  {"value", value},
                  {"replay", outcome.replay(seed)}};
    };
    Json divergence{{"buffer", d.buffer},
                    {"offset", d.offset},
                    {"bytes", d.bytes},
                    {"different_bytes", d.different_bytes}};
    if (d.row) divergence["row"] = *d.row;
    if (d.column) divergence["col"] = *d.column;
    divergence["first"] = side(d.first_seed, d.first_value);
    divergence["second"] = side(d.second_seed, d.second_value);
    document["divergence"] = std::move(divergence);
  }
  for (const ExploreOutcome::Failure& failure : outcome.failures) {
    document["failures"].push_back({{"seed", failure.seed},
                                    {"schedule", schedule(failure.seed)},
                                    {"message", failure.message},
                                    {"replay", outcome.replay(failure.seed)}});
  }
  return document;
}

std::string explore_text(const ExploreOutcome& outcome, const ExploreOptions& options) {
  std::string text =
      fmt::format("{}: {} of {} schedules ran (seeds 0 and {} to {}), {} different output{}\n",
                  outcome.verdict, outcome.ran, options.schedules + 1, options.first_seed,
                  options.first_seed + options.schedules - 1, outcome.distinct,
                  outcome.distinct == 1 ? "" : "s");
  if (!outcome.message.empty()) text += fmt::format("  {}\n", outcome.message);
  const auto line = [&](std::uint64_t seed, const std::string& what) {
    text += fmt::format("  seed {:<6} {}: {}\n              {}\n", seed,
                        machine::describe(machine::Schedule::of(seed)), what, outcome.replay(seed));
  };
  if (outcome.divergence) {
    const Divergence& d = *outcome.divergence;
    text += fmt::format(
        "  first difference: {} byte {}{}, {} bytes differ in all\n", d.buffer, d.offset,
        d.row ? fmt::format(" (row {}, column {})", *d.row, *d.column) : "", d.different_bytes);
    line(d.first_seed, d.first_value);
    line(d.second_seed, d.second_value);
  }
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(outcome.failures.size(), kShown); ++i) {
    line(outcome.failures[i].seed, outcome.failures[i].message);
  }
  if (outcome.failures.size() > kShown) {
    text += fmt::format("  … {} schedules failed\n", outcome.failures.size());
  }
  return text;
}

int exit_code(const ExploreOutcome& outcome) {
  if (outcome.verdict == "pass") return 0;
  return outcome.verdict == "fail" ? 1 : 3;
}

}  // namespace bitgate::suite
