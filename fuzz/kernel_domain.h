#pragma once

#include <cstdint>

#include "conformance/problem/spec.h"
#include "kernels/kernel.h"

namespace bitgate::fuzz {

using conformance::Spec;
using kernels::Kernel;

/// Whether `spec` is a case of `kernel`: its type and zero-point storage, group and K agree, and
/// the kernel's declared domain holds it. Cases are generated, shrunk and planned inside it only.
bool in_domain(const Kernel& kernel, const Spec& spec);

/// The largest M worth generating: the domain's own limit, or three row tiles where it has none.
std::int64_t largest_m(const Kernel& kernel);

/// Blocks of tile_k that the kernel's pipeline runs through for this K.
std::int64_t k_blocks(const Kernel& kernel, std::int64_t k);

/// Multiply-adds the tiles of a case cost, tails padded to whole tiles: what a case costs to run.
std::int64_t padded_work(const Kernel& kernel, const Spec& spec);

/// The plainest case of a kernel: one full row tile, one full column tile, one block more than the
/// pipeline is deep, exact fill.
Spec plain_case(const Kernel& kernel);

}  // namespace bitgate::fuzz
