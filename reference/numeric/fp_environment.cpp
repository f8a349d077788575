#include "reference/numeric/fp_environment.h"

#include <immintrin.h>

#include <stdexcept>
#include <string>

namespace bitgate::numeric {
namespace {

// Intel SDM vol. 1, 10.2.3: MXCSR.
constexpr unsigned kDenormalsAreZero = 1U << 6;
constexpr unsigned kRoundingControl = 3U << 13;
constexpr unsigned kFlushToZero = 1U << 15;

}  // namespace

bool is_ieee_environment() {
  return (_mm_getcsr() & (kDenormalsAreZero | kRoundingControl | kFlushToZero)) == 0;
}

void require_ieee_environment() {
  if (is_ieee_environment()) return;
  const unsigned csr = _mm_getcsr();
  std::string found;
  if ((csr & kFlushToZero) != 0) found += " flush-to-zero";
  if ((csr & kDenormalsAreZero) != 0) found += " denormals-are-zero";
  if ((csr & kRoundingControl) != 0) found += " a directed rounding";
  throw std::logic_error("the floating-point environment must be IEEE's default, found" + found +
                         ": some library loaded into this process was built with -ffast-math");
}

}  // namespace bitgate::numeric
