#include "ci/suite/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "reference/support/error.h"

namespace bitgate::suite {
namespace {

constexpr const char* kKernel = "w4a16.gemm.16x32x1024.f16.sym";

CoverageOutcome measure(const std::string& spec) {
  CoverageOptions options;
  options.kernel_glob = kKernel;
  options.spec = conformance::parse_spec(spec);
  return measure_coverage(options);
}

std::uint64_t threads_of(const KernelCoverage& kernel) {
  std::uint64_t threads = 0;
  for (const CoveredInstruction& i : kernel.instructions) threads += i.count.threads;
  return threads;
}

TEST(KernelCoverage, ATailReachesWhatAWholeTileDoesNot) {
  const CoverageOutcome whole = measure("w4a16 m=16 k=1024 n=32 group=128 zero=sym");
  const CoverageOutcome tail = measure("w4a16 m=17 k=1056 n=40 group=32 zero=sym order=random");
  ASSERT_EQ(whole.kernels.size(), 1U);
  ASSERT_TRUE(whole.failed.empty()) << whole.failed.begin()->first;
  ASSERT_TRUE(tail.failed.empty()) << tail.failed.begin()->first;
  EXPECT_EQ(exit_code(whole), 0);
  EXPECT_TRUE(whole.complete);
  const KernelCoverage& a = whole.kernels.front();
  const KernelCoverage& b = tail.kernels.front();
  EXPECT_EQ(a.kernel, kKernel);
  EXPECT_EQ(a.cases, 1U);
  EXPECT_EQ(a.instructions.size(), b.instructions.size());
  EXPECT_GT(a.executed(), 0U);
  EXPECT_LT(a.executed(), a.instructions.size());
  EXPECT_GT(b.executed(), a.executed());
  EXPECT_GT(threads_of(b), threads_of(a));
}

TEST(KernelCoverage, NamesTheKernelsOwnSource) {
  const CoverageOutcome outcome = measure("w4a16 m=16 k=1024 n=32 group=128 zero=sym");
  const CoveredLines lines = outcome.kernels.front().lines();
  ASSERT_TRUE(lines.contains("kernels/w4a16/gemm.cu"));
  EXPECT_TRUE(lines.contains("kernels/common/mma.cuh"));
  for (const auto& [file, numbered] : lines) EXPECT_FALSE(file.starts_with('/')) << file;
  std::uint64_t instructions = 0;
  for (const auto& [number, line] : lines.at("kernels/w4a16/gemm.cu")) {
    EXPECT_LE(line.executed, line.instructions);
    instructions += line.instructions;
  }
  EXPECT_GT(instructions, 100U);
}

TEST(KernelCoverage, IsToldAsTextJsonAndSource) {
  const CoverageOutcome outcome = measure("w4a16 m=16 k=1024 n=32 group=128 zero=sym");
  const auto document = coverage_document(outcome);
  EXPECT_EQ(document.at("schema"), "bitgate.coverage/1");
  const auto& kernel = document.at("kernels").at(0);
  EXPECT_EQ(kernel.at("name"), kKernel);
  EXPECT_EQ(kernel.at("instructions"), kernel.at("ptx").size());
  EXPECT_EQ(kernel.at("ptx").at(0).at("lanes_on"), "0xffffffff");
  const std::string text = coverage_text(outcome);
  EXPECT_NE(text.find(std::string(kKernel) + ": "), std::string::npos);
  EXPECT_NE(text.find("instructions never executed"), std::string::npos);
  const std::string html = coverage_html(outcome, BITGATE_SOURCE_DIR);
  EXPECT_NE(html.find("<h2><code>kernels/w4a16/gemm.cu</code></h2>"), std::string::npos);
  EXPECT_NE(html.find("__syncthreads();"), std::string::npos);
  EXPECT_NE(html.find("class=\"none\""), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  // Elsewhere the source is not at hand: lines without text.
  EXPECT_EQ(coverage_html(outcome, "/nowhere").find("__syncthreads"), std::string::npos);
}

TEST(KernelCoverage, RefusesASpecThatNoKernelServes) {
  CoverageOptions options;
  options.kernel_glob = kKernel;
  options.spec = conformance::parse_spec("w4a16 type=bf16");
  EXPECT_THROW(measure_coverage(options), Unsupported);
  options.kernel_glob = "no.such";
  EXPECT_THROW(measure_coverage(options), InputError);
}

}  // namespace
}  // namespace bitgate::suite
