#include "conformance/run_case.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "conformance/check/checks.h"
#include "conformance/report/wrong_map.h"
#include "reference/support/sha256.h"

namespace bitgate::conformance {
namespace {

const numeric::TensorModel& tensor_model_of(const kernels::Device& device) {
  const numeric::TensorModel* model = device.properties().tensor_model;
  return model != nullptr ? *model : numeric::tensor_model("hopper");
}

FirstBad describe(const Difference& difference, const kernels::Kernel& kernel,
                  const Problem& problem) {
  const kernels::w4a16::Owner owner =
      kernels::w4a16::owner(kernel, problem.shape, difference.row, difference.col);
  return {.row = difference.row,
          .col = difference.col,
          .got = bits_text(problem.spec.type, difference.got),
          .want = bits_text(problem.spec.type, difference.want),
          .block = {owner.block.x, owner.block.y, owner.block.z},
          .warp = owner.warp,
          .lane = owner.lane,
          .reg = owner.reg};
}

WrongMap map_of(const Comparison& comparison, const kernels::Kernel& kernel, const Spec& spec) {
  WrongMap map = make_wrong_map(spec.m, spec.n, kernel.geometry.tile_m, kernel.geometry.tile_n);
  for (const oracle::WrongElement& element : comparison.sample) {
    mark_wrong(map, element.row, element.col);
  }
  return map;
}

/// The judge that a problem's fill and a kernel's declaration call for.
Judged judge_values(const Problem& problem, const Selection& selection,
                    const std::optional<oracle::Arithmetic>& declared,
                    const kernels::Device& device, bool strict_model, const Execution& execution,
                    std::vector<std::uint16_t>& want) {
  if (problem.judge == Judge::exact || problem.spec.k == 0) {
    return check_exact(problem, selection, execution, want);
  }
  if (declared) {
    return check_replay(problem, selection, *declared, tensor_model_of(device), strict_model,
                        execution, want);
  }
  return check_bound(problem, selection, execution, want);
}

/// What the kernel declares, or nothing when it declares nothing.
std::optional<oracle::Arithmetic> declared_by(const kernels::Kernel& kernel,
                                              const Problem& problem) {
  oracle::Arithmetic arithmetic = kernels::w4a16::declared_arithmetic(kernel, problem.shape);
  if (arithmetic.chains.empty()) return std::nullopt;
  return arithmetic;
}

void judge_output(const Problem& problem, const kernels::Kernel& kernel,
                  const kernels::Device& device, const CaseOptions& options,
                  const Execution& execution, CaseResult& result) {
  const Selection selection = select_outputs(problem);
  const std::optional<oracle::Arithmetic> declared = declared_by(kernel, problem);
  std::vector<std::uint16_t> want;
  Judged judged =
      judge_values(problem, selection, declared, device, options.strict_model, execution, want);
  const Comparison& comparison = judged.comparison;
  result.checks.push_back(std::move(judged.check));
  if (problem.spec.k > 0) {
    result.checks.push_back(check_vacuous(problem, selection, want, execution));
  }
  result.max_error = comparison.max_error;
  if (result.max_error) result.bound_at_max = judged.bound_at_max;
  if (comparison.nan_payload > 0) {
    result.rules["nan_payload"] += static_cast<std::uint64_t>(comparison.nan_payload);
  }
  if (comparison.wrong == 0) return;
  result.first_bad = describe(*comparison.first, kernel, problem);
  result.wrong_map = map_of(comparison, kernel, problem.spec);
  if (options.diagnose) {
    const oracle::WeightForm form = declared ? declared->weights : oracle::WeightForm::integer;
    result.diagnosis = diagnose(problem, execution, form, comparison);
  }
}

void check_case(const Problem& problem, const kernels::Kernel& kernel, kernels::Device& device,
                const CaseOptions& options, CaseResult& result) {
  Execution execution = execute(problem, kernel, device,
                                {.launch = options.launch,
                                 .adapter = options.adapter,
                                 .code = options.code,
                                 .rerun = options.rerun});
  result.hazards = execution.hazards;
  result.checks.push_back(check_launch(problem, execution));
  if (result.checks.back().verdict != Verdict::pass) return;

  if (options.launch.hazards.any() && result.device == "machine") {
    result.checks.push_back(check_hazards(execution));
  }
  result.checks.push_back(check_guards(execution));
  if (problem.spec.m == 0 || problem.spec.n == 0) return;

  result.checks.push_back(check_written(problem, execution));
  if (execution.rerun_outcome) result.checks.push_back(check_rerun(problem, execution));
  judge_output(problem, kernel, device, options, execution, result);
  result.out_sha256 = sha256(std::as_bytes(std::span(execution.output)));
  if (problem.coverage && problem.coverage->cells() > 0) {
    result.coverage = problem.coverage;
    result.exact_coverage = problem.coverage->share();
  }
  if (options.save_output != nullptr) *options.save_output = std::move(execution.output);
}

}  // namespace

CaseResult run_case(const Spec& spec, const kernels::Kernel& kernel, kernels::Device& device,
                    const CaseOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  CaseResult result;
  result.spec = to_string(spec);
  result.kernel = kernel.name;
  result.device = device.properties().kind;
  result.replay = replay_command(spec, kernel.name, result.device);

  if (const auto reason = kernels::w4a16::outside_domain(kernel, shape_of(spec))) {
    result.checks.push_back(
        {.name = "domain", .verdict = Verdict::unsupported, .message = *reason});
  } else {
    check_case(materialise(spec), kernel, device, options, result);
  }
  for (const CheckResult& check : result.checks) {
    result.verdict = worse(result.verdict, check.verdict);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

std::string replay_command(const Spec& spec, std::string_view kernel, std::string_view device) {
  return fmt::format("bitgate run '{}' --kernel {} --device {}", to_string(spec), kernel, device);
}

}  // namespace bitgate::conformance
