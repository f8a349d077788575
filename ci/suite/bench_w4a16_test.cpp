#include "ci/suite/bench_w4a16.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/support/error.h"

namespace bitgate::suite {
namespace {

TEST(MarlinTable, HasSevenLayersAtThreeSizes) {
  EXPECT_EQ(marlin_time(1, 4096, 28672)->marlin_us, 37.2);
  EXPECT_EQ(marlin_time(16, 8960, 1536)->marlin_us, 18.3);
  EXPECT_EQ(marlin_time(1024, 4096, 4096)->marlin_us, 97.6);
  EXPECT_EQ(marlin_time(1024, 1536, 2048)->plain_read_us, 2.0);
  EXPECT_FALSE(marlin_time(2, 4096, 4096));
  EXPECT_FALSE(marlin_time(1, 4096, 4104));
}

TEST(BenchW4a16, NeedsAGpu) {
  const auto machine = kernels::make_machine_device(numeric::tensor_model("hopper"));
  const std::vector specs{conformance::parse_spec("w4a16 m=1 k=1536 n=2048")};
  EXPECT_THROW(bench_w4a16(*machine, specs), Unsupported);
}

BenchW4a16Row row() {
  BenchW4a16Row result;
  result.spec = conformance::parse_spec("w4a16 m=1 k=1536 n=2048 zero=sym");
  result.read_bytes = 1621440;
  result.rotations = 78;
  result.plain_read = {"read 264x512 in flight 8", 2.5, 2.4, 2.9, 1500};
  result.arms = {{true, {"w4a16.gemv.1x32x512.f16.sym", 5.0, 4.9, 5.5, 700}}};
  result.table = marlin_time(1, 1536, 2048);
  result.marlin_us = 11.7 * 2.5 / 2.0;
  return result;
}

TEST(BenchW4a16, TextShowsBothRatios) {
  const std::string text = bench_text(std::vector{row()});
  for (const char* part :
       {"q15_qkv", "w4a16.gemv.1x32x512.f16.sym", "4.90..5.50", "2.00", "14.62", "0.34", "plan"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(BenchW4a16, JsonHasTheSameNumbers) {
  const auto json = nlohmann::json::parse(bench_json(std::vector{row()}, "NVIDIA H200"));
  EXPECT_EQ(json["schema"], "bitgate.bench/1");
  const auto& one = json["rows"][0];
  EXPECT_EQ(one["layer"], "q15_qkv");
  EXPECT_EQ(one["marlin_us"], 14.625);
  EXPECT_EQ(one["kernels"][0]["per_plain_read"], 2.0);
  EXPECT_EQ(one["kernels"][0]["planned"], true);
  auto unmeasured = row();
  unmeasured.table.reset();
  unmeasured.marlin_us.reset();
  const auto bare = nlohmann::json::parse(bench_json(std::vector{unmeasured}, "NVIDIA H200"));
  EXPECT_FALSE(bare["rows"][0].contains("marlin_us"));
  EXPECT_FALSE(bare["rows"][0]["kernels"][0].contains("per_marlin"));
}

}  // namespace
}  // namespace bitgate::suite
