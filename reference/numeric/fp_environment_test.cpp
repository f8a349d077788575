#include "reference/numeric/fp_environment.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <stdexcept>

namespace bitgate::numeric {
namespace {

TEST(FpEnvironment, TheDefaultIsIeee) { EXPECT_NO_THROW(require_ieee_environment()); }

TEST(FpEnvironment, FlushingAndDirectedRoundingAreFound) {
  const unsigned saved = _mm_getcsr();
  for (const unsigned set : {1U << 6, 1U << 15, 1U << 13, 2U << 13, 3U << 13}) {
    _mm_setcsr(saved | set);
    const bool found = !is_ieee_environment();
    _mm_setcsr(saved);
    EXPECT_TRUE(found) << std::hex << set;
  }
}

}  // namespace
}  // namespace bitgate::numeric
