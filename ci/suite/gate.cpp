#include "ci/suite/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>

#include "ci/suite/case_plan.h"
#include "ci/suite/replacement_code.h"
#include "ci/suite/verdict_cache.h"
#include "ci/suite/workspace.h"
#include "conformance/run_case.h"
#include "fuzz/case_pool.h"
#include "fuzz/classes.h"

namespace bitgate::suite {

using conformance::CaseResult;
using conformance::Verdict;
using kernels::Kernel;

namespace {

using Clock = std::chrono::steady_clock;

class Gate {
 public:
  explicit Gate(const GateOptions& options)
      : options_(options),
        code_(options.ptx.empty() ? CodeSource() : CodeSource(options.ptx)),
        kernels_(code_.among(kernels::match_kernels(options.kernel_glob))),
        devices_(devices_for(options.device, options.tensor_model)),
        cache_(cache_folder() / "verdicts"),
        plan_(plan_cases(kernels_, options.checkpoints, options.seed,
                         devices_.front().multiprocessors)) {}

  GateOutcome run() {
    auto& summary = outcome_.summary;
    summary.device = name_of(devices_);
    for (const DeviceKind& device : devices_) {
      summary.device_description +=
          (summary.device_description.empty() ? "" : "; ") + device.description;
    }
    summary.seed = options_.seed;
    if (options_.starts)
      options_.starts((plan_.fixed.size() + plan_.generated.size()) * devices_.size());

    const bool fixed_done = run_all(plan_.fixed);
    const bool generated_done = fixed_done && run_all(plan_.generated);
    if (interrupted()) {
      not_proven("interrupted: the cases shown are all that ran");
    } else if (!fixed_done) {
      not_proven(fmt::format("the budget of {} s ended before the fixed cases were done",
                             *options_.budget_seconds));
    } else if (!generated_done) {
      summary.notes.push_back(fmt::format("the budget of {} s ended the generated cases early",
                                          *options_.budget_seconds));
    }
    conclude(fixed_done);
    return std::move(outcome_);
  }

 private:
  bool interrupted() const { return options_.interrupted != nullptr && *options_.interrupted; }

  bool out_of_time() const {
    return options_.budget_seconds &&
           std::chrono::duration<double>(Clock::now() - start_).count() >= *options_.budget_seconds;
  }

  /// Whether all of them ran, on every device.
  bool run_all(const std::vector<PlannedCase>& cases) {
    return std::all_of(devices_.begin(), devices_.end(),
                       [&](const DeviceKind& device) { return run_on(device, cases); });
  }

  bool run_on(const DeviceKind& device, const std::vector<PlannedCase>& cases) {
    std::vector<std::string> keys;
    if (options_.use_cache) {
      for (const PlannedCase& planned : cases) {
        keys.push_back(
            cache_.key(code_.hash_of(*planned.kernel), planned.spec, planned.kernel->name, device));
      }
    }
    const std::function<std::function<CaseResult(std::size_t)>()> make_worker = [&] {
      // A device is made for the first case that is not in the cache.
      return [this, &device, &cases, &keys,
              own = std::shared_ptr<kernels::Device>()](std::size_t index) mutable {
        if (options_.use_cache) {
          if (auto known = cache_.find(keys[index])) return *known;
        }
        if (own == nullptr) own = device.make();
        CaseResult result = judge(cases[index], *own);
        if (options_.use_cache) cache_.keep(keys[index], result);
        return result;
      };
    };
    const std::function<void(std::size_t, CaseResult)> done =
        [&](std::size_t index, CaseResult result) { take(cases[index], std::move(result)); };
    const auto stop = [&] { return interrupted() || out_of_time(); };
    return fuzz::run_in_order<CaseResult>(cases.size(), device.threads, make_worker, stop, done) ==
           cases.size();
  }

  CaseResult judge(const PlannedCase& planned, kernels::Device& device) const {
    conformance::CaseOptions options;
    options.launch.time_limit = options_.time_limit;
    options.launch.interrupted = options_.interrupted;
    if (options_.hazards) options.launch.hazards = machine::hazard::Options::all();
    options.code = code_.code();
    options.strict_model = options_.strict_model;
    CaseResult result;
    try {
      result = conformance::run_case(planned.spec, *planned.kernel, device, options);
    } catch (const std::bad_alloc&) {
      result.spec = conformance::to_string(planned.spec);
      result.kernel = planned.kernel->name;
      result.device = device.properties().kind;
      result.verdict = Verdict::untrusted;
      result.checks.push_back({"memory", Verdict::untrusted, "not enough memory to run this case"});
      result.replay = conformance::replay_command(planned.spec, result.kernel, result.device);
    }
    result.replay += code_.replay_flag();
    if (options_.hazards && result.device == "machine") result.replay += " --hazards";
    if (options_.tensor_model != nullptr && result.device == "machine") {
      result.replay += fmt::format(" --tensor-model {}", options_.tensor_model->name);
    }
    return result;
  }

  void take(const PlannedCase& planned, CaseResult result) {
    // A case that the interrupt cut short has shown nothing.
    if (interrupted() && result.verdict == Verdict::untrusted) return;
    if (result.verdict == Verdict::pass) {
      if (devices_.size() > 1) compare_devices(result);
      classes_.add(*planned.kernel, planned.spec);
      if (result.coverage) {
        coverage_.try_emplace(planned.kernel, planned.kernel->geometry)
            .first->second.add(*result.coverage);
      }
    }
    if (options_.judged) options_.judged(result);
    outcome_.summary.add(std::move(result), planned.suite);
  }

  /// The same case on the other device gave the same bits; judged when both tensor models agree.
  void compare_devices(CaseResult& result) {
    const auto [first, is_first] =
        hashes_.try_emplace({result.kernel, result.spec}, result.out_sha256);
    if (is_first || devices_.front().tensor_model != devices_.back().tensor_model) return;
    if (first->second == result.out_sha256) {
      result.checks.push_back({"devices_agree", Verdict::pass, ""});
      return;
    }
    result.checks.push_back(
        {"devices_agree", Verdict::fail, fmt::format("machine gave out_sha256 {}", first->second)});
    result.verdict = Verdict::fail;
  }

  void not_proven(const std::string& sentence) {
    outcome_.not_proven.push_back(sentence);
    outcome_.summary.notes.push_back(sentence);
  }

  void untrusted(const Kernel& kernel, const std::string& sentence) {
    ++outcome_.summary.counts.untrusted;
    ++outcome_.summary.kernels[kernel.name].counts.untrusted;
    not_proven(fmt::format("{}: {}", kernel.name, sentence));
  }

  void conclude(bool fixed_done) {
    auto& summary = outcome_.summary;
    summary.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    summary.classes = classes_.total();
    for (const Kernel* kernel : kernels_) {
      for (const std::string_view name : fuzz::admitted_classes(*kernel)) {
        summary.kernels[kernel->name].classes[std::string(name)] = classes_.of(*kernel, name);
      }
      const auto coverage = coverage_.find(kernel);
      if (coverage != coverage_.end() && !coverage->second.empty()) {
        summary.kernels[kernel->name].exact_coverage = coverage->second.share();
      }
      if (fixed_done) conclude(*kernel);
    }
    if (!options_.ptx.empty()) {
      summary.notes.push_back(
          fmt::format("{} kernels ran the code of {}", kernels_.size(), options_.ptx.string()));
    }
    if (fixed_done && summary.suites.count("real_weights") == 0) {
      not_proven("no real weights: " + (plan_.no_weights.empty()
                                            ? "no layer of the checkpoints fits a kernel asked for"
                                            : plan_.no_weights));
    }
    if (summary.counts.pass == 0) not_proven("nothing was proven");
  }

  /// What the fixed cases must have shown of a kernel; what fails is told as such already.
  void conclude(const Kernel& kernel) {
    const auto& counts = outcome_.summary.kernels[kernel.name].counts;
    if (counts.fail + counts.unsupported + counts.untrusted > 0) return;
    for (const std::string_view name : classes_.missed(kernel)) {
      untrusted(kernel, fmt::format("no case of class {} passed", name));
    }
    const auto& coverage = outcome_.summary.kernels[kernel.name].exact_coverage;
    if (!coverage) {
      untrusted(kernel, "no exact case ran");
    } else if (*coverage < 1.0) {
      untrusted(kernel, fmt::format("its exact cases cover {:.4f} of what they should", *coverage));
    }
  }

  const GateOptions& options_;
  CodeSource code_;
  KernelList kernels_;
  std::vector<DeviceKind> devices_;
  VerdictCache cache_;
  CasePlan plan_;
  GateOutcome outcome_;
  fuzz::ClassCount classes_;
  std::map<const Kernel*, conformance::CoverageAccumulator> coverage_;
  std::map<std::pair<std::string, std::string>, std::string> hashes_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

GateOutcome run_gate(const GateOptions& options) { return Gate(options).run(); }

int exit_code(const GateOutcome& outcome) {
  const auto& counts = outcome.summary.counts;
  if (counts.fail > 0 || counts.unsupported > 0) return 1;
  return counts.untrusted > 0 || !outcome.not_proven.empty() ? 3 : 0;
}

}  // namespace bitgate::suite
