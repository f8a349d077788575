#include "ci/bitgate/save_case.h"

#include <map>
#include <string>
#include <vector>

#include "conformance/check/checks.h"
#include "conformance/problem/problem.h"
#include "reference/formats/safetensors.h"
#include "reference/oracle/gemm_oracle.h"

namespace bitgate::command_line {

using formats::DType;
using formats::Tensor;

namespace {

std::vector<float> as_f32(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

void save_case(const std::filesystem::path& file, const conformance::Spec& spec,
               const kernels::Kernel& kernel, std::span<const std::uint16_t> output) {
  const conformance::Problem problem = conformance::materialise(spec);
  const formats::PackedLayer& layer = problem.layer;
  const DType type = spec.type == numeric::ScalarType::bf16 ? DType::bf16 : DType::f16;
  const std::int64_t groups = problem.matrix.groups();
  const bool awq = layer.config.awq_layout;

  const oracle::Arithmetic declared = kernels::w4a16::declared_arithmetic(kernel, problem.shape);
  const auto form = declared.chains.empty() ? oracle::WeightForm::integer : declared.weights;
  const oracle::OracleResult reference =
      oracle::gemm_oracle(conformance::activations_of(problem), problem.matrix, form);

  std::map<std::string, Tensor> tensors;
  const auto add16 = [&](const char* name, std::vector<std::int64_t> shape,
                         std::span<const std::uint16_t> values) {
    tensors.emplace(name, Tensor::of(type, std::move(shape), values));
  };
  const auto add32 = [&](const char* name, std::vector<std::int64_t> shape,
                         const std::vector<std::int32_t>& values) {
    tensors.emplace(name, Tensor::of(DType::i32, std::move(shape), std::span(values)));
  };
  const auto add_f32 = [&](const char* name, const std::vector<double>& values) {
    const std::vector<float> rounded = as_f32(values);
    tensors.emplace(name, Tensor::of(DType::f32, {spec.m, spec.n}, std::span(rounded)));
  };
  add16("a", {spec.m, spec.k}, problem.activations);
  if (output.size() == static_cast<std::size_t>(spec.m * spec.n)) {
    add16("out", {spec.m, spec.n}, output);
  }
  add_f32("reference", reference.value);
  add_f32("bound", reference.bound);
  if (awq) {
    add32("qweight", {spec.k, spec.n / 8}, layer.qweight);
  } else {
    add32("qweight", {spec.k / 8, spec.n}, layer.qweight);
  }
  add32("qzeros", {groups, spec.n / 8}, layer.qzeros);
  add16("scales", {groups, spec.n}, layer.scales);
  if (spec.order != conformance::Order::none) add32("g_idx", {spec.k}, layer.g_idx);
  formats::write_safetensors(file, tensors, {{"spec", conformance::to_string(spec)}});
}

}  // namespace bitgate::command_line
