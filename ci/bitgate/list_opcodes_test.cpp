#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "ci/bitgate/command_line.h"

namespace bitgate::command_line {
namespace {

std::string printed(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run(arguments, out, err), kProven) << err.str();
  return out.str();
}

TEST(ListOpcodes, PrintsTheTableWithItsCounts) {
  const std::string page = printed({"exec", "--list-opcodes"});
  EXPECT_NE(page.find("\n| add | f32 | supported | 20 | "), std::string::npos);
  EXPECT_NE(page.find("\n| rcp | f32 | approximate | 2 | "), std::string::npos);
  EXPECT_NE(page.find("\n| tcgen05 |  | unsupported | 1 | "), std::string::npos);
}

TEST(ListOpcodes, AsJsonTheCountsAreThoseOfTheRows) {
  const auto document = nlohmann::json::parse(printed({"exec", "--list-opcodes", "--json"}));
  EXPECT_EQ(document["schema"], "bitgate.opcodes/1");
  std::map<std::string, std::size_t> rows;
  std::map<std::string, std::size_t> forms;
  for (const auto& row : document["rows"]) {
    ++rows[row["support"]];
    forms[row["support"]] += row["forms"].size();
    EXPECT_EQ(row.contains("reason"), row["support"] == "unsupported") << row;
  }
  for (const auto& [support, counts] : document["counts"].items()) {
    EXPECT_EQ(counts["rows"], rows[support]) << support;
    EXPECT_EQ(counts["forms"], forms[support]) << support;
  }
}

}  // namespace
}  // namespace bitgate::command_line
