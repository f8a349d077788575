#include "conformance/problem/problem.h"

#include <algorithm>
#include <utility>

#include "conformance/problem/fill.h"
#include "reference/support/random.h"

namespace bitgate::conformance {
namespace {

formats::QuantConfig config_of(const Spec& spec) {
  formats::QuantConfig config;
  config.group_size = spec.k == 0 ? resolved_group(spec) : spec.group;
  config.symmetric = spec.zero == ZeroKey::sym;
  config.awq_layout = spec.zero == ZeroKey::awq;
  config.act_order = spec.order != Order::none;
  config.scale_type = spec.type;
  switch (spec.zero) {
    case ZeroKey::sym:
      config.zero_points = formats::ZeroPoints::sym;
      break;
    case ZeroKey::gptq_v1:
      config.zero_points = formats::ZeroPoints::gptq_v1;
      break;
    case ZeroKey::gptq_v2:
      config.zero_points = formats::ZeroPoints::gptq_v2;
      break;
    case ZeroKey::awq:
      config.zero_points = formats::ZeroPoints::awq;
      break;
  }
  return config;
}

void shuffle(std::span<std::int32_t> values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random.below(i)]);
  }
}

formats::QuantizedMatrix empty_matrix(const Spec& spec) {
  formats::QuantizedMatrix matrix;
  matrix.k = spec.k;
  matrix.n = spec.n;
  matrix.group = resolved_group(spec);
  matrix.scale_type = spec.type;
  matrix.g_idx = group_index(spec);
  matrix.q.resize(static_cast<std::size_t>(spec.k * spec.n));
  const auto rows = static_cast<std::size_t>(matrix.groups() * spec.n);
  matrix.z.resize(rows);
  matrix.scales.resize(rows);
  return matrix;
}

void zero_all_but(std::span<const std::int64_t> keep, std::int64_t k,
                  std::vector<std::uint16_t>& activations) {
  std::vector<bool> kept(static_cast<std::size_t>(k));
  for (const std::int64_t index : keep) kept[static_cast<std::size_t>(index)] = true;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    if (!kept[i % kept.size()]) activations[i] = 0;
  }
}

/// The tensors that a public checkpoint carries and that this convention says not to read.
void fill_unread_with_junk(formats::PackedLayer& layer, std::uint64_t seed) {
  Random random(seed, "unread");
  if (layer.config.symmetric) {
    for (std::int32_t& word : layer.qzeros) word = static_cast<std::int32_t>(random.next());
  }
  if (!layer.config.act_order) {
    for (std::int32_t& group : layer.g_idx) group = static_cast<std::int32_t>(random.next());
  }
}

}  // namespace

std::vector<std::int32_t> group_index(const Spec& spec) {
  const std::int64_t group = resolved_group(spec);
  std::vector<std::int32_t> index(static_cast<std::size_t>(spec.k));
  for (std::int64_t k = 0; k < spec.k; ++k) {
    index[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(k / group);
  }
  Random random(spec.seed, "order");
  switch (spec.order) {
    case Order::none:
    case Order::identity:
      break;
    case Order::reversed:
      std::ranges::reverse(index);
      break;
    case Order::random:
      shuffle(index, random);
      break;
    case Order::skewed: {
      std::vector<std::int32_t> clustered;
      std::vector<std::int32_t> scattered;
      for (const std::int32_t g : index) (g % 3 == 0 ? clustered : scattered).push_back(g);
      shuffle(scattered, random);
      std::ranges::copy(scattered, std::ranges::copy(clustered, index.begin()).out);
      break;
    }
  }
  return index;
}

Problem materialise(const Spec& spec) {
  validate(spec);
  Problem problem;
  problem.spec = spec;
  problem.shape = shape_of(spec);
  problem.matrix = empty_matrix(spec);
  problem.activations.resize(static_cast<std::size_t>(spec.m * spec.k));

  const FillRow& fill = row_of(spec.fill);
  problem.judge = fill.judge;
  fill.make(problem);
  if (!spec.keep.empty()) zero_all_but(spec.keep, spec.k, problem.activations);
  if (spec.fill == Fill::exact && spec.keep.empty()) {
    problem.coverage =
        exact_coverage(problem.matrix, spec.zero == ZeroKey::sym, spec.m, problem.activations);
  }

  if (spec.fill != Fill::checkpoint) {
    problem.layer = formats::pack(problem.matrix, config_of(spec));
    fill_unread_with_junk(problem.layer, spec.seed);
  }
  return problem;
}

}  // namespace bitgate::conformance
