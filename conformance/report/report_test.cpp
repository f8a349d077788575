#include "conformance/report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "conformance/report/html.h"
#include "conformance/report/json.h"
#include "conformance/report/junit.h"
#include "conformance/report/terminal.h"
#include "conformance/report/wrong_map.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::conformance {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const std::string kHostile = "</script><b a='\"'>&\x1b[31m\xff]]>";

CaseResult passed() {
  CaseResult result;
  result.spec = "w4a16 m=16 k=1024 n=256 group=128 type=f16 zero=gptq_v1 fill=exact seed=1";
  result.kernel = "w4a16.gemm.16x64x256.f16.int";
  result.device = "machine";
  result.checks = {{"exact", Verdict::pass, ""}};
  result.out_sha256 = std::string(64, 'a');
  result.max_error = 0.0;
  result.bound_at_max = 0.0;
  result.replay = "bitgate run '…' --kernel w4a16.gemm.16x64x256.f16.int --device machine";
  result.seconds = 0.25;
  return result;
}

CaseResult failed() {
  CaseResult result = passed();
  result.verdict = Verdict::fail;
  result.checks.push_back({"replay", Verdict::fail, "12 of 4096 elements differ"});
  result.first_bad = FirstBad{.row = 3,
                              .col = 2049,
                              .got = "0x3c00 (1)",
                              .want = "0x4000 (2)",
                              .block = {1, 2, 0},
                              .warp = 4,
                              .lane = 7,
                              .reg = 2};
  result.diagnosis = {{"zero_point_off_by_one", "all", "+1"}};
  result.wrong_map = make_wrong_map(16, 256, 16, 64);
  mark_wrong(*result.wrong_map, 3, 200);
  result.max_error = 0.1;
  result.rules = {{"nan_payload", 3}};
  return result;
}

CaseResult hostile() {
  CaseResult result;
  result.spec = "spec " + kHostile;
  result.kernel = "kernel " + kHostile;
  result.device = "machine";
  result.verdict = Verdict::untrusted;
  result.checks = {{"written", Verdict::untrusted, "message " + kHostile}};
  result.diagnosis = {{kHostile, kHostile, kHostile}};
  result.first_bad = FirstBad{};
  result.first_bad->got = kHostile;
  result.replay = "replay " + kHostile;
  return result;
}

RunSummary summary() {
  RunSummary run;
  run.device = "machine";
  run.device_description = "reference machine, hopper";
  run.seed = 18446744073709551615U;
  run.add(passed(), "generated");
  run.add(failed(), "corpus");
  run.kernels.begin()->second.exact_coverage = 1.0;
  run.classes = {{"tail_n", 97}, {"act_order", 40}};
  run.seconds = 1.5;
  return run;
}

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> result;
  for (const auto& [key, value] : json.items()) result.push_back(key);
  return result;
}

TEST(RunSummary, CountsByVerdictSuiteAndKernel) {
  const RunSummary run = summary();
  EXPECT_EQ(run.counts.pass, 1U);
  EXPECT_EQ(run.counts.fail, 1U);
  EXPECT_EQ(run.counts.total(), 2U);
  EXPECT_EQ(run.suites.at("corpus"), 1U);
  EXPECT_EQ(run.kernels.at("w4a16.gemm.16x64x256.f16.int").counts.fail, 1U);
  EXPECT_EQ(run.rules.at("nan_payload"), 3U);
}

TEST(JsonReport, KeepsTheDocumentedKeysInTheirOrder) {
  const Json json = Json::parse(json_report(summary(), JsonCases::all));
  EXPECT_EQ(keys(json), (std::vector<std::string>{"schema", "device", "seed", "counts", "suites",
                                                  "kernels", "classes", "rules", "cases"}));
  EXPECT_EQ(json["schema"], "bitgate.cases/1");
  EXPECT_EQ(json["seed"], 18446744073709551615U);
  EXPECT_EQ(keys(json["counts"]),
            (std::vector<std::string>{"pass", "fail", "untrusted", "unsupported"}));
  EXPECT_EQ(json["kernels"]["w4a16.gemm.16x64x256.f16.int"]["exact_coverage"], 1.0);
  ASSERT_EQ(json["cases"].size(), 2U);
  EXPECT_EQ(keys(json["cases"][0]),
            (std::vector<std::string>{"spec", "kernel", "device", "verdict", "checks", "out_sha256",
                                      "max_error", "bound_at_max", "replay"}));
  const Json& bad = json["cases"][1];
  EXPECT_EQ(keys(bad), (std::vector<std::string>{"spec", "kernel", "device", "verdict", "checks",
                                                 "out_sha256", "max_error", "bound_at_max",
                                                 "first_bad", "diagnosis", "replay"}));
  EXPECT_EQ(keys(bad["first_bad"]), (std::vector<std::string>{"row", "col", "got", "want", "block",
                                                              "warp", "lane", "register"}));
  EXPECT_EQ(bad["first_bad"]["block"], Json::array({1, 2, 0}));
  EXPECT_EQ(keys(bad["diagnosis"][0]),
            (std::vector<std::string>{"hypothesis", "explains", "variant"}));
}

TEST(JsonReport, OfAGateListsOnlyWhatDidNotPass) {
  const Json json = Json::parse(json_report(summary(), JsonCases::not_passed));
  ASSERT_EQ(json["cases"].size(), 1U);
  EXPECT_EQ(json["cases"][0]["verdict"], "fail");
  EXPECT_EQ(json["counts"]["pass"], 1);
}

TEST(JsonReport, LeavesOutWhatDoesNotApply) {
  RunSummary run;
  run.device = "cuda";
  CaseResult bare;
  bare.verdict = Verdict::unsupported;
  run.cases = {bare};
  const Json json = Json::parse(json_report(run, JsonCases::all));
  EXPECT_EQ(keys(json),
            (std::vector<std::string>{"schema", "device", "seed", "counts", "kernels", "cases"}));
  EXPECT_EQ(keys(json["cases"][0]),
            (std::vector<std::string>{"spec", "kernel", "device", "verdict", "checks"}));
}

TEST(JsonReport, DoesNotDependOnTime) {
  RunSummary later = summary();
  later.seconds = 99;
  for (CaseResult& result : later.cases) result.seconds = 42;
  EXPECT_EQ(json_report(later, JsonCases::all), json_report(summary(), JsonCases::all));
}

TEST(JsonReport, NumbersReadBackEqual) {
  RunSummary run = summary();
  run.cases[0].max_error = 0.1 + 0.2;
  const Json json = Json::parse(json_report(run, JsonCases::all));
  EXPECT_EQ(json["cases"][0]["max_error"].get<double>(), 0.1 + 0.2);
}

TEST(JsonReport, SurvivesHostileStrings) {
  RunSummary run;
  run.add(hostile(), "corpus");
  const Json json = Json::parse(json_report(run, JsonCases::all));
  EXPECT_EQ(json["cases"][0]["verdict"], "untrusted");
}

TEST(JunitReport, ParsesBack) {
  RunSummary run = summary();
  run.add(hostile(), "corpus");
  pugi::xml_document document;
  const std::string text = junit_report(run);
  ASSERT_TRUE(document.load_buffer(text.data(), text.size()));
  const pugi::xml_node root = document.child("testsuites");
  EXPECT_EQ(root.attribute("tests").as_int(), 3);
  EXPECT_EQ(root.attribute("failures").as_int(), 1);
  EXPECT_EQ(root.attribute("errors").as_int(), 1);
  const pugi::xml_node suite = root.find_child_by_attribute("name", "w4a16.gemm.16x64x256.f16.int");
  ASSERT_TRUE(suite);
  EXPECT_EQ(suite.attribute("tests").as_int(), 2);
  const pugi::xml_node failure = suite.child("testcase").next_sibling().child("failure");
  EXPECT_STREQ(failure.attribute("message").value(), "replay: 12 of 4096 elements differ");
  EXPECT_NE(std::string(failure.text().get()).find("register 2"), std::string::npos);
  EXPECT_NE(std::string(failure.text().get()).find(run.cases[1].replay), std::string::npos);
  EXPECT_FALSE(suite.child("testcase").child("failure"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(HtmlReport, EscapesAndFetchesNothing) {
  RunSummary run = summary();
  run.add(hostile(), kHostile);
  run.notes = {kHostile};
  run.classes[kHostile] = 1;
  const std::string html = html_report(run);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("</script"), std::string::npos);
  EXPECT_EQ(html.find("<b a="), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_NE(html.find("&lt;/script&gt;"), std::string::npos);
}

TEST(HtmlReport, ShowsCoverageFailuresAndAllCases) {
  const std::string html = html_report(summary());
  for (const char* part : {"100.0 %", "zero_point_off_by_one", "lane 7, register 2", "<svg",
                           "row 0, column 192: 1 of 1024 wrong", "<details>", "tail_n"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

TEST(TerminalSummary, SaysWhatFailedAndHowToReplayIt) {
  const std::string text = terminal_summary(summary(), Colour::off);
  for (const char* part :
       {"FAILED on machine (reference machine, hopper)", "1 pass, 1 fail", "    1 of     2 pass",
        "exact coverage 100.0 %", "act_order 40, tail_n 97", "12 of 4096 elements differ",
        "block (1, 2, 0), warp 4, lane 7, register 2", "zero_point_off_by_one (+1) explains all",
        "...1", "--kernel w4a16.gemm.16x64x256.f16.int --device machine"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(TerminalSummary, ConcludesWithoutFailures) {
  RunSummary run;
  EXPECT_NE(terminal_summary(run, Colour::off).find("NOTHING PROVEN"), std::string::npos);
  run.add(passed(), "generated");
  EXPECT_NE(terminal_summary(run, Colour::off).find("PROVEN on"), std::string::npos);
  run.add(hostile(), "generated");
  EXPECT_NE(terminal_summary(run, Colour::off).find("NOT PROVEN on"), std::string::npos);
}

TEST(TerminalSummary, ReplaysEveryFailureHoweverMany) {
  RunSummary run;
  for (int i = 0; i < 30; ++i) {
    CaseResult result = failed();
    result.replay = "replay number " + std::to_string(i) + ".";
    run.add(result, "generated");
  }
  const std::string text = terminal_summary(run, Colour::off);
  for (int i = 0; i < 30; ++i) {
    EXPECT_NE(text.find("replay number " + std::to_string(i) + "."), std::string::npos) << i;
  }
}

TEST(TerminalSummary, ColoursOnlyWhenAsked) {
  RunSummary run = summary();
  run.add(hostile(), kHostile);
  EXPECT_EQ(terminal_summary(run, Colour::off).find('\x1b'), std::string::npos);
  EXPECT_NE(terminal_summary(run, Colour::on).find("\x1b["), std::string::npos);
}

TEST(ColourFor, IsOffForAFile) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(colour_for(file), Colour::off);
  std::fclose(file);
}

TEST(Progress, IsSilentWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress("gate", 2);
    progress.step(Verdict::pass);
    progress.step(Verdict::fail);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(WriteReport, WritesThreeFiles) {
  const fs::path folder =
      fs::temp_directory_path() / ("bitgate-report-" + std::to_string(getpid()));
  write_report(summary(), folder / "inner");
  EXPECT_EQ(read_text_file(folder / "inner" / "report.json"),
            json_report(summary(), JsonCases::all));
  EXPECT_EQ(read_text_file(folder / "inner" / "junit.xml"), junit_report(summary()));
  EXPECT_EQ(read_text_file(folder / "inner" / "index.html"), html_report(summary()));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder / "inner")) ++files;
  EXPECT_EQ(files, 3U);
  EXPECT_THROW(write_report(summary(), folder / "inner" / "report.json"), InputError);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace bitgate::conformance
