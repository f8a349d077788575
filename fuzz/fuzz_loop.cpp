#include "fuzz/fuzz_loop.h"

#include <limits>

#include "fuzz/case_pool.h"
#include "fuzz/shrink.h"

namespace bitgate::fuzz {

using conformance::CaseResult;
using conformance::Verdict;

namespace {

bool is_failure(const CaseResult& result) {
  return result.verdict == Verdict::fail || result.verdict == Verdict::unsupported;
}

FuzzFailure shrink_failure(const FuzzOptions& options, std::uint64_t index, const Kernel& kernel,
                           const Spec& spec, CaseResult found, kernels::Device& device) {
  conformance::CaseOptions quiet = options.case_options;
  quiet.diagnose = false;
  const Shrunk smallest = shrink(kernel, spec, [&](const Spec& candidate) {
    return conformance::run_case(candidate, kernel, device, quiet).verdict == found.verdict;
  });
  FuzzFailure failure;
  failure.index = index;
  failure.kernel = &kernel;
  failure.shrunk = conformance::run_case(smallest.spec, kernel, device, options.case_options);
  failure.shrunk_spec = smallest.spec;
  failure.shrink_runs = smallest.runs;
  failure.found = std::move(found);
  return failure;
}

}  // namespace

FuzzOutcome fuzz(const FuzzOptions& options,
                 const std::function<std::unique_ptr<kernels::Device>()>& make_device) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };

  struct Judged {
    Spec spec;
    CaseResult result;
  };
  FuzzOutcome outcome;
  std::optional<std::pair<std::uint64_t, Judged>> failing;
  const auto kernel_of = [&](std::uint64_t index) -> const Kernel& {
    return *options.kernels[index % options.kernels.size()];
  };

  const std::function<std::function<Judged(std::size_t)>()> make_worker = [&] {
    const std::shared_ptr<kernels::Device> device = make_device();
    return [&options, &kernel_of, device](std::size_t index) {
      const Kernel& kernel = kernel_of(index);
      const std::uint64_t round = index / options.kernels.size();
      Judged judged{generate(kernel, options.seed, round, options.generate), {}};
      judged.result = conformance::run_case(judged.spec, kernel, *device, options.case_options);
      return judged;
    };
  };
  const auto stop = [&] {
    if (options.interrupted && options.interrupted()) outcome.interrupted = true;
    return outcome.interrupted || failing.has_value() ||
           (options.seconds && elapsed() >= *options.seconds);
  };
  const std::function<void(std::size_t, Judged)> done = [&](std::size_t index, Judged judged) {
    if (failing) return;
    ++outcome.cases;
    outcome.classes.add(kernel_of(index), judged.spec);
    outcome.untrusted += judged.result.verdict == Verdict::untrusted ? 1 : 0;
    outcome.unsupported += judged.result.verdict == Verdict::unsupported ? 1 : 0;
    if (options.ran) options.ran(judged.result);
    if (is_failure(judged.result)) failing.emplace(index, std::move(judged));
  };
  const std::size_t most = options.cases ? static_cast<std::size_t>(*options.cases)
                                         : std::numeric_limits<std::size_t>::max();
  run_in_order<Judged>(most, options.threads, make_worker, stop, done);
  outcome.seconds = elapsed();

  if (failing) {
    const auto device = make_device();
    auto& [index, judged] = *failing;
    outcome.failure = shrink_failure(options, index, kernel_of(index), judged.spec,
                                     std::move(judged.result), *device);
  }
  return outcome;
}

}  // namespace bitgate::fuzz
