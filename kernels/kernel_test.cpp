#include "kernels/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "reference/support/error.h"

namespace bitgate::kernels {
namespace {

TEST(Kernels, HaveNamesEntriesAndHashesOfTheirOwn) {
  std::set<std::string> names;
  std::set<std::string> hashes;
  for (const Kernel& kernel : kernels()) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_TRUE(hashes.insert(kernel.code_hash).second) << kernel.name << " shares its code";
    EXPECT_EQ(kernel.code_hash.size(), 64U) << kernel.name;
    std::string entry = kernel.name;
    std::replace(entry.begin(), entry.end(), '.', '_');
    EXPECT_EQ(kernel.entry, entry);
    ASSERT_NE(kernel.code, nullptr);
    EXPECT_NE(kernel.code->ptx.find(".entry " + kernel.entry + "("), std::string_view::npos);
    EXPECT_FALSE(kernel.code->cubin_sm80.empty());
    EXPECT_FALSE(kernel.code->cubin_sm90.empty());
    EXPECT_FALSE(kernel.claims.empty());
  }
  EXPECT_EQ(names.count("w4a16.gemv.1x32x512.f16.sym"), 1U);
}

TEST(Kernels, GlobsMatchWholeNames) {
  EXPECT_EQ(match_kernels("*").size(), kernels().size());
  const auto gemv = match_kernels("w4a16.gemv.*.bf16.int");
  EXPECT_FALSE(gemv.empty());
  for (const Kernel* kernel : gemv) {
    EXPECT_EQ(kernel->geometry.variant, "gemv");
    EXPECT_EQ(kernel->type, numeric::ScalarType::bf16);
    EXPECT_EQ(kernel->zeros, Zeros::integer);
  }
  EXPECT_EQ(match_kernels("w4a16.gemv.1x32x512.f16.sym").size(), 1U);
  EXPECT_EQ(match_kernels("w4a16.gemv.[14]x32x*.f16.sy?").size(), 2U);
  EXPECT_THROW(match_kernels("gemv"), InputError);
}

TEST(Kernels, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_EQ(kernel_named("w4a16.gemv.1x32x512.f16.sym").entry, "w4a16_gemv_1x32x512_f16_sym");
  try {
    kernel_named("w4a16.gemv.1x32x512.f16.symm");
    FAIL() << "an unknown name was accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("w4a16.gemv.1x32x512.f16.sym"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace bitgate::kernels
