#pragma once

#include <rapidcheck.h>

#include <cstdint>

#include "fuzz/kernel_domain.h"

namespace bitgate::fuzz {

struct GenerateOptions {
  /// Most multiply-adds (tails padded to tiles) of an ordinary case, and of one case in eight.
  std::int64_t work = std::int64_t{1} << 23;
  std::int64_t large_work = std::int64_t{1} << 25;
};

/// Cases of a kernel, within its domain, crowded at the edges: 0, 1, each tile boundary and one
/// alignment unit to either side of it, primes, K around the pipeline's depth.
rc::Gen<Spec> cases_of(const Kernel& kernel, const GenerateOptions& options = {});

/// Case number `index` of the endless sequence that `seed` gives for a kernel. The same on every
/// machine and whatever else is drawn: bits depend on (seed, kernel name, index) alone.
Spec generate(const Kernel& kernel, std::uint64_t seed, std::uint64_t index,
              const GenerateOptions& options = {});

}  // namespace bitgate::fuzz
