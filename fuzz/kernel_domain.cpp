#include "fuzz/kernel_domain.h"

#include <algorithm>

#include "reference/support/error.h"

namespace bitgate::fuzz {

using conformance::Fill;
using conformance::Order;
using conformance::ZeroKey;

namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

bool in_domain(const Kernel& kernel, const Spec& spec) {
  if (spec.type != kernel.type || conformance::zeros_of(spec) != kernel.zeros) return false;
  if (spec.zero == ZeroKey::awq && spec.order != Order::none) return false;
  if (spec.fill == Fill::probe_columns && kernel.zeros == kernels::Zeros::sym) return false;
  if (spec.group > 0 && spec.k % spec.group != 0) return false;
  if ((spec.lda != 0 && spec.lda < spec.k) || (spec.ldc != 0 && spec.ldc < spec.n)) return false;
  try {
    return !kernels::w4a16::outside_domain(kernel, conformance::shape_of(spec)).has_value();
  } catch (const InputError&) {
    return false;
  }
}

std::int64_t largest_m(const Kernel& kernel) {
  Spec spec = plain_case(kernel);
  for (spec.m = 3 * std::max(kernel.geometry.tile_m, 1); spec.m > 1; --spec.m) {
    if (in_domain(kernel, spec)) break;
  }
  return spec.m;
}

std::int64_t k_blocks(const Kernel& kernel, std::int64_t k) {
  const std::int64_t tile = std::max(kernel.geometry.tile_k, 1);
  return (k + tile - 1) / tile;
}

std::int64_t padded_work(const Kernel& kernel, const Spec& spec) {
  const auto& tile = kernel.geometry;
  return round_up(spec.m, std::max(tile.tile_m, 1)) * round_up(spec.n, std::max(tile.tile_n, 1)) *
         round_up(spec.k, std::max(tile.tile_k, 1));
}

Spec plain_case(const Kernel& kernel) {
  const auto& tile = kernel.geometry;
  Spec spec;
  spec.type = kernel.type;
  spec.zero = kernel.zeros == kernels::Zeros::sym ? ZeroKey::sym : ZeroKey::gptq_v2;
  spec.group = 64;
  spec.m = std::max(tile.tile_m, 1);
  spec.n = round_up(std::max(tile.tile_n, 1), 8);
  spec.k = round_up(std::int64_t{tile.stages + 1} * std::max(tile.tile_k, 1), 64);
  while (spec.m > 1 && !in_domain(kernel, spec)) --spec.m;
  return spec;
}

}  // namespace bitgate::fuzz
