#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kernels/w4a16/w4a16.h"
#include "reference/support/error.h"

namespace bitgate::kernels::w4a16 {
namespace {

Shape shape_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  Shape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.group = k % 128 == 0 && k > 0 ? 128 : 32;
  shape.lda = k;
  shape.ldc = n;
  return shape;
}

TEST(Plan, ServesEveryShape) {
  for (const std::int64_t m : {0, 1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 128, 1024, 65537}) {
    for (const std::int64_t n : {0, 8, 32, 264, 2056, 28672, 131080}) {
      for (const std::int64_t k : {0, 32, 1536, 16384}) {
        for (const auto type : {numeric::ScalarType::f16, numeric::ScalarType::bf16}) {
          for (const Zeros zeros : {Zeros::sym, Zeros::integer}) {
            Shape shape = shape_of(m, n, k);
            shape.type = type;
            shape.zeros = zeros;
            const Kernel& kernel = plan(shape, 132);
            EXPECT_EQ(kernel.type, type);
            EXPECT_EQ(kernel.zeros, zeros);
            EXPECT_FALSE(outside_domain(kernel, shape).has_value());
          }
        }
      }
    }
  }
}

TEST(Plan, GoesByTheRowsAndTheMachine) {
  EXPECT_EQ(plan(shape_of(1, 2048, 1536), 132).geometry.variant, "gemv");
  EXPECT_EQ(plan(shape_of(16, 28672, 4096), 132).geometry.variant, "gemm");
  EXPECT_EQ(plan(shape_of(16, 28672, 4096), 132).geometry.tile_m, 16);
  EXPECT_EQ(plan(shape_of(1024, 4096, 4096), 132).geometry.variant, "prefill");
  EXPECT_LT(plan(shape_of(16, 4096, 4096), 132).geometry.tile_n,
            plan(shape_of(16, 4096, 4096), 8).geometry.tile_n);
}

TEST(Plan, RefusesWhatNoKernelServes) {
  try {
    plan(shape_of(16, 252, 1024), 132);
    FAIL() << "N = 252 was planned";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("multiple of 8"), std::string::npos) << error.what();
  }
  EXPECT_THROW(plan(shape_of(16, 256, 1024), 0), InputError);
}

}  // namespace
}  // namespace bitgate::kernels::w4a16
