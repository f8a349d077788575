#pragma once

#include <cstdint>
#include <functional>

#include "fuzz/kernel_domain.h"

namespace bitgate::fuzz {

struct Shrunk {
  Spec spec;     ///< still fails; no single step makes it smaller and keeps it failing
  int runs = 0;  ///< cases tried on the way
};

/// Makes a failing case smaller in every dimension until no step does, or `most_runs` are spent:
/// m, n, k, then the conventions (order none, group 128, plain bases and strides, exact fill), then
/// the set of k whose activations stay non-zero (`keep`). `fails` runs a case; it is asked only for
/// cases inside the kernel's domain. The same failing case gives the same smallest one.
Shrunk shrink(const Kernel& kernel, const Spec& failing,
              const std::function<bool(const Spec&)>& fails, int most_runs = 400);

}  // namespace bitgate::fuzz
