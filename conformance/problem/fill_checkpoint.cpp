// The weights of a real layer, exactly as they lie in the checkpoint, under activations as in the
// real fill. The spec says what the checkpoint must be; it is never bent to it.

#include <fmt/format.h>

#include "conformance/problem/fill.h"
#include "reference/formats/checkpoint.h"
#include "reference/support/error.h"

namespace bitgate::conformance {
namespace {

ZeroKey zero_key_of(const formats::QuantConfig& config) {
  if (config.symmetric) return ZeroKey::sym;
  switch (config.zero_points) {
    case formats::ZeroPoints::sym:
      return ZeroKey::sym;
    case formats::ZeroPoints::gptq_v1:
      return ZeroKey::gptq_v1;
    case formats::ZeroPoints::gptq_v2:
      return ZeroKey::gptq_v2;
    case formats::ZeroPoints::awq:
      break;
  }
  return ZeroKey::awq;
}

void require_same(const Spec& spec, std::string_view key, std::string_view found,
                  std::string_view asked) {
  if (found == asked) return;
  throw InputError(fmt::format("spec: {}: layer {} of {} has {}={}, the spec says {}", key,
                               spec.layer, spec.checkpoint, key, found, asked));
}

void require_same(const Spec& spec, std::string_view key, std::int64_t found, std::int64_t asked) {
  require_same(spec, key, fmt::to_string(found), fmt::to_string(asked));
}

}  // namespace

void fill_checkpoint(Problem& problem) {
  const Spec& spec = problem.spec;
  problem.layer = formats::Checkpoint::open(spec.checkpoint).load(spec.layer);
  const formats::QuantConfig& config = problem.layer.config;
  require_same(spec, "k", problem.layer.k, spec.k);
  require_same(spec, "n", problem.layer.n, spec.n);
  require_same(spec, "group", formats::resolve_group(config.group_size, problem.layer.k),
               resolved_group(spec));
  require_same(spec, "type", numeric::name(config.scale_type), numeric::name(spec.type));
  require_same(spec, "zero", name(zero_key_of(config)), name(spec.zero));
  require_same(spec, "act-order", config.act_order ? "on" : "off",
               spec.order != Order::none ? "on" : "off");
  problem.matrix = formats::unpack(problem.layer);
  fill_real_activations(problem);
}

}  // namespace bitgate::conformance
