#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/w4a16/tile_grid.h"
#include "kernels/w4a16/w4a16.h"
#include "reference/support/error.h"

namespace bitgate::kernels::w4a16 {
namespace {

Shape shape_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t group = 128) {
  Shape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.group = group;
  shape.lda = k;
  shape.ldc = n;
  return shape;
}

const Kernel& gemm() { return *match_kernels("w4a16.gemm.16x*.f16.sym").front(); }

template <class Value>
Value argument(const Launch& launch, std::size_t index) {
  Value value{};
  EXPECT_EQ(launch.arguments[index].size(), sizeof value);
  std::memcpy(&value, launch.arguments[index].data(), sizeof value);
  return value;
}

TEST(Domain, NamesWhatItRefuses) {
  const auto refusal = [](const Shape& shape) {
    return outside_domain(gemm(), shape).value_or("");
  };
  EXPECT_EQ(refusal(shape_of(16, 256, 1024)), "");
  EXPECT_EQ(refusal(shape_of(0, 0, 0, 1)), "");
  EXPECT_EQ(refusal(shape_of(65537, 32776, 32, 32)), "");
  EXPECT_EQ(refusal(shape_of(1, 131080, 16384)), "");
  EXPECT_EQ(refusal(shape_of(16, 256, 4096, 4096)), "");
  const std::vector<std::pair<Shape, std::string>> refused = {
      {shape_of(-1, 256, 1024), "M must lie"},
      {shape_of(16, 252, 1024), "N must be a multiple of 8; it is 252"},
      {shape_of(16, 256, 1000, 1000), "K must be a multiple of 32; it is 1000"},
      {shape_of(16, 256, 1024, 256), "the group must be 32, 64, 128"},
      {shape_of(16, 256, 576, 128), "K must be a multiple of the group of 128"},
      {shape_of(16, 256, 1024, 0), "the group must be resolved"},
      {shape_of(16, 256, std::int64_t{1} << 31, 32), "K must lie"},
      {shape_of(2147483000, 2147480000, 32, 32), "a launch has at most 2147483647 blocks"}};
  for (const auto& [shape, sentence] : refused) {
    EXPECT_NE(refusal(shape).find(sentence), std::string::npos) << refusal(shape);
  }
  Shape narrow = shape_of(16, 256, 1024);
  narrow.lda = 1023;
  EXPECT_NE(refusal(narrow).find("lda"), std::string::npos);
  narrow = shape_of(16, 256, 1024);
  narrow.ldc = 255;
  EXPECT_NE(refusal(narrow).find("ldc"), std::string::npos);
  Shape other = shape_of(16, 256, 1024);
  other.type = numeric::ScalarType::bf16;
  EXPECT_NE(refusal(other).find("built for f16"), std::string::npos);
  other = shape_of(16, 256, 1024);
  other.zeros = Zeros::integer;
  EXPECT_NE(refusal(other).find("built for sym"), std::string::npos);
  Shape odd = shape_of(16, 256, 1024);
  odd.base_offset = 3;
  EXPECT_NE(refusal(odd).find("even addresses"), std::string::npos);
  EXPECT_THROW(make_launch(gemm(), odd, {}), InputError);
}

TEST(Launch, OfNoRowsOrColumnsIsNone) {
  EXPECT_FALSE(make_launch(gemm(), shape_of(0, 256, 1024), {}).has_value());
  EXPECT_FALSE(make_launch(gemm(), shape_of(16, 0, 1024), {}).has_value());
  EXPECT_TRUE(make_launch(gemm(), shape_of(16, 256, 0, 1), {}).has_value());
}

TEST(Launch, SaysTheActivationsPathAndTheGroup) {
  const Buffers buffers{256, 512, 768, 1024, 0, 0};
  constexpr std::size_t kGroupShift = 9;
  constexpr std::size_t kPath = 12;
  constexpr std::size_t kOutputVectors = 13;
  Shape shape = shape_of(16, 256, 1024, 64);
  Launch launch = make_launch(gemm(), shape, buffers).value();
  ASSERT_EQ(launch.arguments.size(), 14U);
  EXPECT_EQ(argument<std::uint32_t>(launch, kGroupShift), 1U);
  EXPECT_EQ(argument<std::uint32_t>(launch, kPath), 0U);
  EXPECT_EQ(argument<std::uint32_t>(launch, kOutputVectors), 1U);
  shape.lda = 1025;
  shape.ldc = 257;
  launch = make_launch(gemm(), shape, buffers).value();
  EXPECT_EQ(argument<std::uint32_t>(launch, kPath), 1U);
  EXPECT_EQ(argument<std::uint32_t>(launch, kOutputVectors), 0U);
  EXPECT_EQ(argument<std::int64_t>(launch, 10), 1025);
  shape.act_order = true;
  EXPECT_EQ(argument<std::uint32_t>(make_launch(gemm(), shape, buffers).value(), kPath), 2U);
  EXPECT_EQ(
      argument<std::uint32_t>(
          make_launch(gemm(), shape_of(1, 256, 1024), {258, 512, 768, 1024, 0, 0}).value(), kPath),
      1U);
  EXPECT_EQ(argument<std::uint32_t>(
                make_launch(gemm(), shape_of(1, 256, 1024, 1024), buffers).value(), kGroupShift),
            31U);
}

TEST(Launch, FitsTheMultiprocessor) {
  constexpr std::uint32_t kHopperShared = 227 * 1024;
  for (const Kernel& kernel : kernels()) {
    EXPECT_LE(shared_bytes(kernel.geometry), kHopperShared) << kernel.name;
    EXPECT_LE(threads(kernel.geometry), 1024U) << kernel.name;
  }
}

TEST(Owner, IsAnotherForEveryElement) {
  for (const Kernel& kernel : kernels()) {
    const Shape shape = shape_of(kernel.geometry.tile_m + 9, kernel.geometry.tile_n + 40, 64, 32);
    const std::int64_t blocks = TileGrid(kernel.geometry, shape).blocks();
    std::set<std::tuple<std::uint32_t, int, int, int>> owners;
    for (std::int64_t row = 0; row < shape.m; ++row) {
      for (std::int64_t column = 0; column < shape.n; ++column) {
        const Owner o = owner(kernel, shape, row, column);
        ASSERT_LT(o.block.x, blocks) << kernel.name;
        ASSERT_LT(o.warp, kernel.geometry.warps_m * kernel.geometry.warps_n) << kernel.name;
        ASSERT_LT(o.lane, 32) << kernel.name;
        ASSERT_TRUE(owners.emplace(o.block.x, o.warp, o.lane, o.reg).second)
            << kernel.name << " row " << row << " column " << column;
      }
    }
  }
}

TEST(Owner, HoldsTheSumsThatTheInstructionPutsThere) {
  const Kernel& kernel = kernel_named("w4a16.prefill.128x128x64.f16.sym");
  const Owner o = owner(kernel, shape_of(300, 512, 64, 32), 128 + 64 + 8 + 5, 128 + 64 + 16 + 11);
  // The second tile of rows and of columns; with 3 tiles of rows in a band, block = 1 · 3 + 1.
  EXPECT_EQ(o.block.x, 4U);
  EXPECT_EQ(o.warp, 1 * 2 + 1);
  EXPECT_EQ(o.lane, 3 * 4 + 2);               // g = column % 8, t = row % 8 / 2
  EXPECT_EQ(o.reg, (1 * 8 + 1) * 4 + 2 + 1);  // tile 1, rows 8…15, column g+8, odd row
}

}  // namespace
}  // namespace bitgate::kernels::w4a16
