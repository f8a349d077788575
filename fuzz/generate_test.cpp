#include "fuzz/generate.h"

#include <gtest/gtest.h>

#include <set>

#include "conformance/problem/spec.h"

namespace bitgate::fuzz {
namespace {

TEST(Generate, EveryCaseIsInTheDomainAndWithinItsBudget) {
  const GenerateOptions options;
  for (const Kernel& kernel : kernels::kernels()) {
    std::uint64_t large = 0;
    for (std::uint64_t index = 0; index < 200; ++index) {
      const Spec spec = generate(kernel, 1, index, options);
      EXPECT_TRUE(in_domain(kernel, spec)) << kernel.name << ": " << to_string(spec);
      EXPECT_LE(padded_work(kernel, spec), options.large_work) << to_string(spec);
      large += padded_work(kernel, spec) > options.work ? 1 : 0;
    }
    EXPECT_LT(large, 60U) << kernel.name;
  }
}

TEST(Generate, DependsOnSeedKernelAndIndexAlone) {
  const auto& all = kernels::kernels();
  const std::string fifth = to_string(generate(all.front(), 7, 5));
  generate(all.back(), 7, 5);
  generate(all.front(), 7, 4);
  EXPECT_EQ(to_string(generate(all.front(), 7, 5)), fifth);
  EXPECT_NE(to_string(generate(all.front(), 8, 5)), fifth);
  EXPECT_NE(to_string(generate(all.front(), 7, 6)), fifth);
}

TEST(Generate, CasesDifferAndReadBack) {
  const Kernel& kernel = kernels::kernels().front();
  std::set<std::string> lines;
  for (std::uint64_t index = 0; index < 500; ++index) {
    const std::string line = to_string(generate(kernel, 3, index));
    EXPECT_EQ(to_string(conformance::parse_spec(line)), line);
    lines.insert(line);
  }
  EXPECT_GT(lines.size(), 495U);
}

TEST(Generate, AsAPropertyGenerator) {
  const Kernel& kernel = kernels::kernels().front();
  EXPECT_TRUE(rc::check("cases fit the tile budget", [&] {
    const Spec spec = *cases_of(kernel);
    RC_ASSERT(spec.n % 8 == 0);
    RC_ASSERT(spec.group < 0 || spec.k % spec.group == 0);
  }));
}

}  // namespace
}  // namespace bitgate::fuzz
