#include <array>
#include <string>

#include "reference/numeric/tensor_core.h"
#include "reference/support/error.h"

namespace bitgate::numeric {
namespace {

constexpr std::string_view kMeasured =
    "measured on an H200: 0 mismatches in 30.7 million dot products of f16 and bf16, and in 10^5 "
    "each of tf32, f16 accumulators and sparse A; 24 and 26 bits mismatch in all of them";
constexpr std::string_view kMeasuredFp8 =
    "measured on an H200: 0 mismatches in 10^5 outputs of each pair of types; the code of ptxas "
    "13.0";
constexpr std::string_view kPublished = "MMA-Sim, arXiv 2511.10909";

constexpr Fp8Rule published_sums(int fraction_bits, int parts, int result_fraction_bits) {
  return {Fp8Rule::Kind::sums, fraction_bits, parts, result_fraction_bits, false, kPublished};
}

constexpr auto kModels = std::to_array<TensorModel>({
    {"volta", 7, 0, 23, 1, false, kPublished},
    {"turing", 7, 5, 24, 1, false, kPublished},
    {"ampere", 8, 0, 24, 2, false, kPublished},
    {"ada", 8, 9, 24, 2, false, kPublished, published_sums(13, 2, 13)},
    {"hopper", 9, 0, 25, 1, true, kMeasured,
     Fp8Rule{Fp8Rule::Kind::two_f16_mma, 25, 1, 23, true, kMeasuredFp8}},
    {"blackwell", 10, 0, 25, 1, false, kPublished, published_sums(25, 1, 23)},
});

constexpr int kNewestPublished = 12;  // compute capability 12.x, RTX Blackwell

}  // namespace

std::span<const TensorModel> tensor_models() { return kModels; }

const TensorModel& tensor_model(std::string_view name) {
  std::string known;
  for (const TensorModel& model : kModels) {
    if (model.name == name) return model;
    known += known.empty() ? "" : ", ";
    known += model.name;
  }
  throw InputError("no tensor model is named '" + std::string(name) + "'; known are " + known);
}

const TensorModel& tensor_model_for(int compute_capability_major, int compute_capability_minor) {
  const int wanted = 10 * compute_capability_major + compute_capability_minor;
  const TensorModel* found = nullptr;
  const bool unknown = compute_capability_major > kNewestPublished;
  for (const TensorModel& model : kModels) {
    // 8.6 and 8.7 are Ampere's, 12.0 is Blackwell's: the newest that is not newer.
    if (10 * model.compute_capability_major + model.compute_capability_minor <= wanted) {
      found = &model;
    }
  }
  if (found == nullptr || unknown) {
    throw InputError("no tensor model for compute capability " +
                     std::to_string(compute_capability_major) + "." +
                     std::to_string(compute_capability_minor) +
                     ": published are 7.0 (Volta) to 12.x (Blackwell)");
  }
  return *found;
}

}  // namespace bitgate::numeric
