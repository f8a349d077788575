#pragma once

#include <cstdint>
#include <span>

#include "reference/numeric/scalar_type.h"

namespace bitgate::oracle {

/// A of a W4A16 product on the host: element (row, k) has the bits bits[row · lda + k].
struct Activations {
  numeric::ScalarType type = numeric::ScalarType::f16;  ///< f16 or bf16
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t lda = 0;  ///< ≥ k
  std::span<const std::uint16_t> bits;
};

}  // namespace bitgate::oracle
