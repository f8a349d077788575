#include "conformance/report/report.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "conformance/report/html.h"
#include "conformance/report/json.h"
#include "conformance/report/junit.h"
#include "reference/support/error.h"
#include "reference/support/file.h"

namespace bitgate::conformance {

void VerdictCounts::add(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      ++pass;
      break;
    case Verdict::fail:
      ++fail;
      break;
    case Verdict::untrusted:
      ++untrusted;
      break;
    case Verdict::unsupported:
      ++unsupported;
      break;
  }
}

void RunSummary::add(CaseResult result, const std::string& suite) {
  counts.add(result.verdict);
  ++suites[suite];
  kernels[result.kernel].counts.add(result.verdict);
  for (const auto& [rule, uses] : result.rules) rules[rule] += uses;
  cases.push_back(std::move(result));
}

void write_report(const RunSummary& summary, const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error || !std::filesystem::is_directory(directory)) {
    throw InputError(fmt::format("cannot make the report folder {}: {}", directory.string(),
                                 error ? error.message() : "it is no folder"));
  }
  write_file(directory / "report.json", json_report(summary, JsonCases::all));
  write_file(directory / "junit.xml", junit_report(summary));
  write_file(directory / "index.html", html_report(summary));
}

}  // namespace bitgate::conformance
