#include "reference/numeric/ulp.h"

#include <algorithm>
#include <cmath>

namespace bitgate::numeric {

double ulp_of(ScalarType type, double value) {
  const int fraction_bits = type == ScalarType::f16 ? 10 : type == ScalarType::bf16 ? 7 : 23;
  const int min_exponent = type == ScalarType::f16 ? -14 : -126;
  const int exponent = value == 0 ? min_exponent : std::max(std::ilogb(value), min_exponent);
  return std::ldexp(1.0, exponent - fraction_bits);
}

}  // namespace bitgate::numeric
