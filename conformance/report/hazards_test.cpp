#include "conformance/report/hazards.h"

#include <gtest/gtest.h>

#include <vector>

#include "conformance/check/checks.h"

namespace bitgate::conformance {
namespace {

namespace hazard = machine::hazard;

hazard::Report race() {
  hazard::Report report;
  report.space = "global";
  report.buffer = "c";
  report.offset = 1030;
  report.bytes = 2;
  report.count = 3;
  report.same_value = true;
  report.element = {2, 3};
  report.first = {hazard::AccessKind::write,
                  {"st.global.u16 [%rd1], %h1", "gemm.cu", 212, 88, {1, 0, 0}, {33, 0, 0}}};
  report.second =
      hazard::Place{hazard::AccessKind::write,
                    {"st.global.u16 [%rd1], %h1", "gemm.cu", 212, 88, {0, 0, 0}, {1, 0, 0}}};
  report.message = "two writes";
  return report;
}

TEST(HazardReports, JsonHasTheContractsKeys) {
  const std::vector<hazard::Report> reports{race()};
  const auto json = hazards_json(reports);
  ASSERT_EQ(json.size(), 1U);
  const auto& entry = json[0];
  EXPECT_EQ(entry["kind"], "race");
  EXPECT_EQ(entry["space"], "global");
  EXPECT_EQ(entry["buffer"], "c");
  EXPECT_EQ(entry["offset"], 1030);
  EXPECT_EQ(entry["bytes"], 2);
  EXPECT_EQ(entry["count"], 3);
  EXPECT_EQ(entry["same_value"], true);
  EXPECT_EQ(entry["element"], (nlohmann::ordered_json{2, 3}));
  EXPECT_EQ(entry["first"]["access"], "write");
  EXPECT_EQ(entry["first"]["line"], 212);
  EXPECT_EQ(entry["first"]["thread"], (nlohmann::ordered_json{33, 0, 0}));
  EXPECT_EQ(entry["second"]["block"], (nlohmann::ordered_json{0, 0, 0}));
}

TEST(HazardReports, WhatHasNoPlaceIsNull) {
  hazard::Report report;
  report.kind = hazard::Kind::deadlock;
  const auto entry = hazards_json(std::vector{report})[0];
  EXPECT_TRUE(entry["space"].is_null());
  EXPECT_TRUE(entry["buffer"].is_null());
  EXPECT_TRUE(entry["second"].is_null());
  EXPECT_FALSE(entry.contains("offset"));
  EXPECT_FALSE(entry["first"].contains("access"));
}

TEST(HazardReports, TextNamesBothLinesAndTheElement) {
  const std::string text = hazard_text(race(), "  ");
  for (const char* part : {"race of the same value", "'c' + 1030", "row 2, column 3", "gemm.cu:212",
                           "thread (33,0,0)", "3 times"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(HazardReports, AnyFailsTheCheck) {
  Execution execution;
  EXPECT_EQ(check_hazards(execution).verdict, Verdict::pass);
  execution.hazards.push_back(race());
  EXPECT_EQ(check_hazards(execution).verdict, Verdict::fail);
}

}  // namespace
}  // namespace bitgate::conformance
