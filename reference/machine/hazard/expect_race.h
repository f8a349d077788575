#pragma once

#include <gtest/gtest.h>

#include <string>

#include "reference/machine/hazard/test_run.h"

namespace bitgate::machine {

/// What tests expect of bodies that race, and of their twins: nothing at all.

inline void expect_clean(const std::string& body, const Case& c = {}) {
  const Outcome outcome = run_body(body, c);
  EXPECT_TRUE(outcome.hazards.empty() && !outcome.fault) << describe(outcome);
}

/// One race, between these two.
inline hazard::Report expect_race(const std::string& body, const std::string& first,
                                  const std::string& second, const Case& c = {}) {
  const Outcome outcome = run_body(body, c);
  EXPECT_FALSE(outcome.fault) << describe(outcome);
  EXPECT_EQ(outcome.hazards.size(), 1U) << describe(outcome);
  if (outcome.hazards.size() != 1) return {};
  const hazard::Report& report = outcome.hazards.front();
  EXPECT_EQ(report.kind, hazard::Kind::race) << describe(outcome);
  EXPECT_EQ(hazard::name(report.first.access), first) << describe(outcome);
  EXPECT_TRUE(report.second.has_value());
  if (report.second) {
    EXPECT_EQ(hazard::name(report.second->access), second) << describe(outcome);
  }
  return report;
}

}  // namespace bitgate::machine
