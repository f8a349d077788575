#include "conformance/report/wrong_map.h"

#include <gtest/gtest.h>

#include <numeric>

#include "conformance/report/terminal.h"

namespace bitgate::conformance {
namespace {

TEST(WrongMap, CellsAreTilesWhereTheyFit) {
  WrongMap map = make_wrong_map(17, 100, 16, 64);
  EXPECT_EQ(map.cell_rows, 16);
  EXPECT_EQ(map.cell_cols, 64);
  EXPECT_EQ(map.wrong.size(), 4U);
  mark_wrong(map, 16, 99);
  EXPECT_EQ(map.wrong[3], 1U);
  EXPECT_EQ(wrong_map_picture(map), "..\n.1\n");
}

TEST(WrongMap, CellsGrowByWholeTilesForLargeOutputs) {
  WrongMap map = make_wrong_map(65537, 32776, 128, 96);
  EXPECT_EQ(map.cell_rows % 128, 0);
  EXPECT_EQ(map.cell_cols % 96, 0);
  EXPECT_LE(map.wrong.size(), 16U * 64U);
  mark_wrong(map, 65536, 32775);
  EXPECT_EQ(std::accumulate(map.wrong.begin(), map.wrong.end(), 0U), 1U);
  EXPECT_EQ(map.wrong.back(), 1U);
}

TEST(WrongMap, EmptyOutputHasNoCells) {
  EXPECT_TRUE(make_wrong_map(0, 64, 16, 64).wrong.empty());
  EXPECT_TRUE(make_wrong_map(4, 0, 16, 64).wrong.empty());
  EXPECT_EQ(wrong_map_picture(make_wrong_map(0, 64, 16, 64)), "");
}

TEST(WrongMapPicture, ShowsTheShareThatIsWrong) {
  const WrongMap map{.rows = 2, .cols = 30, .cell_rows = 2, .cell_cols = 10, .wrong = {20, 10, 0}};
  EXPECT_EQ(wrong_map_picture(map), "#5.\n");
}

TEST(WrongMapPicture, SaysWhatItLeavesOut) {
  const WrongMap map{.rows = 1,
                     .cols = 100,
                     .cell_rows = 1,
                     .cell_cols = 1,
                     .wrong = std::vector<std::uint32_t>(100, 1)};
  EXPECT_EQ(wrong_map_picture(map),
            std::string(64, '#') + "\n(1 × 100 cells, the first 1 × 64 drawn)\n");
}

}  // namespace
}  // namespace bitgate::conformance
