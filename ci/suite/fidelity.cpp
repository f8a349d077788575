#include "ci/suite/fidelity.h"

#include <chrono>
#include <span>

#include "ci/suite/devices.h"
#include "conformance/check/execution.h"
#include "conformance/problem/problem.h"
#include "fuzz/case_pool.h"
#include "fuzz/classes.h"
#include "fuzz/generate.h"
#include "reference/support/sha256.h"

namespace bitgate::suite {

using conformance::Execution;
using kernels::Kernel;

namespace {

/// What a device made of a case: the hash of its output, or why there is none.
std::string output_of(const conformance::Problem& problem, const Kernel& kernel,
                      kernels::Device& device) {
  conformance::ExecutionOptions options;
  options.rerun = false;
  const Execution execution = conformance::execute(problem, kernel, device, options);
  if (execution.refused) return "refused: " + *execution.refused;
  if (execution.launched && execution.outcome.status != kernels::LaunchOutcome::Status::completed) {
    return "not completed: " + execution.outcome.message;
  }
  return sha256(std::as_bytes(std::span(execution.output)));
}

struct Compared {
  conformance::Spec spec;
  const Kernel* kernel = nullptr;
  std::string machine;
  std::string cuda;
};

}  // namespace

FidelityOutcome fidelity(const FidelityOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto chosen = kernels::match_kernels(options.kernel_glob);
  const auto devices = devices_for(DeviceChoice::both, nullptr);
  const DeviceKind& machine = devices.front();
  const DeviceKind& cuda = devices.back();

  FidelityOutcome outcome;
  outcome.device_description = cuda.description;
  outcome.tensor_model = cuda.tensor_model->name;
  outcome.seed = options.seed;
  fuzz::ClassCount classes;

  const std::function<std::function<Compared(std::size_t)>()> make_worker = [&] {
    return [&options, &chosen, on_machine = std::shared_ptr<kernels::Device>(machine.make()),
            on_cuda = std::shared_ptr<kernels::Device>(cuda.make())](std::size_t index) {
      Compared compared;
      compared.kernel = chosen[index % chosen.size()];
      compared.spec = fuzz::generate(*compared.kernel, options.seed, index / chosen.size());
      const auto problem = conformance::materialise(compared.spec);
      compared.machine = output_of(problem, *compared.kernel, *on_machine);
      compared.cuda = output_of(problem, *compared.kernel, *on_cuda);
      return compared;
    };
  };
  const std::function<void(std::size_t, Compared)> done = [&](std::size_t, Compared compared) {
    ++outcome.cases;
    ++outcome.kernels[compared.kernel->name];
    classes.add(*compared.kernel, compared.spec);
    if (compared.machine != compared.cuda || compared.machine.find(':') != std::string::npos) {
      outcome.differences.push_back({compared.spec, compared.kernel->name,
                                     std::move(compared.machine), std::move(compared.cuda)});
    }
    if (options.compared) options.compared();
  };
  const auto stop = [&] { return options.interrupted != nullptr && *options.interrupted; };
  const std::size_t done_cases = fuzz::run_in_order<Compared>(
      static_cast<std::size_t>(options.cases), machine.threads, make_worker, stop, done);

  outcome.complete = done_cases == options.cases;
  outcome.classes = classes.total();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace bitgate::suite
