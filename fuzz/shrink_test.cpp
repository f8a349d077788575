#include "fuzz/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fuzz/generate.h"

namespace bitgate::fuzz {
namespace {

using conformance::Fill;
using conformance::Order;

const Kernel& integer_gemm() { return *kernels::match_kernels("*gemm*f16.int").front(); }

TEST(Shrink, ReachesTheSmallestCaseOfAnArtificialDefect) {
  const Kernel& kernel = integer_gemm();
  const auto fails = [&](const Spec& spec) { return spec.m >= 3 && spec.n >= 24 && spec.k >= 96; };
  Spec failing = plain_case(kernel);
  failing.group = 32;
  failing.m = 13;
  failing.n = 10 * failing.n + 8;
  failing.k = 7 * 128;
  failing.lda = failing.k + 24;
  failing.ldc = failing.n + 3;
  failing.order = Order::random;
  failing.fill = Fill::real;
  ASSERT_TRUE(fails(failing));
  const Shrunk smallest = shrink(kernel, failing, fails);
  EXPECT_EQ(smallest.spec.m, 3);
  EXPECT_EQ(smallest.spec.n, 24);
  EXPECT_EQ(smallest.spec.k, 96);
  EXPECT_EQ(smallest.spec.lda, 0);
  EXPECT_EQ(smallest.spec.ldc, 0);
  EXPECT_EQ(smallest.spec.order, Order::none);
  EXPECT_EQ(smallest.spec.fill, Fill::exact);
  EXPECT_EQ(smallest.spec.group, -1);
  EXPECT_EQ(smallest.spec.keep.size(), 1U);
  EXPECT_LE(smallest.runs, 100);
}

TEST(Shrink, KeepsWhatTheDefectNeeds) {
  const Kernel& kernel = integer_gemm();
  Spec failing = plain_case(kernel);
  failing.order = Order::skewed;
  failing.ldc = failing.n + 24;
  const auto fails = [](const Spec& spec) {
    const auto kept = [&](std::int64_t k) {
      return spec.keep.empty() ||
             std::find(spec.keep.begin(), spec.keep.end(), k) != spec.keep.end();
    };
    return spec.order != Order::none && spec.ldc > spec.n && spec.k > 40 && kept(3) && kept(40);
  };
  const Shrunk smallest = shrink(kernel, failing, fails);
  EXPECT_EQ(smallest.spec.order, Order::reversed);
  EXPECT_EQ(smallest.spec.ldc, smallest.spec.n + 8);
  EXPECT_EQ(smallest.spec.k, 64);
  EXPECT_EQ(smallest.spec.keep, (std::vector<std::int64_t>{3, 40}));
}

TEST(Shrink, SpendsNoMoreRunsThanAllowed) {
  const Kernel& kernel = integer_gemm();
  int runs = 0;
  const Spec failing = plain_case(kernel);
  const auto fails = [&](const Spec& spec) {
    ++runs;
    return spec.m * spec.n * spec.k > 100;
  };
  const Shrunk smallest = shrink(kernel, failing, fails, 7);
  EXPECT_LE(runs, 7);
  EXPECT_EQ(smallest.runs, runs);
}

TEST(Shrink, TheResultStillFailsAndStaysInTheDomain) {
  const Kernel& kernel = integer_gemm();
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Spec failing = generate(kernel, 11, index);
    const auto fails = [&](const Spec& spec) {
      return (spec.m + spec.n / 8 + spec.k / 32) % 3 ==
             (failing.m + failing.n / 8 + failing.k / 32) % 3;
    };
    const Shrunk once = shrink(kernel, failing, fails);
    EXPECT_TRUE(fails(once.spec));
    EXPECT_TRUE(in_domain(kernel, once.spec));
    EXPECT_EQ(to_string(shrink(kernel, failing, fails).spec), to_string(once.spec));
  }
}

}  // namespace
}  // namespace bitgate::fuzz
