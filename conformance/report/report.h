#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/check/verdict.h"

namespace bitgate::conformance {

struct VerdictCounts {
  std::uint64_t pass = 0;
  std::uint64_t fail = 0;
  std::uint64_t untrusted = 0;
  std::uint64_t unsupported = 0;

  void add(Verdict verdict);
  std::uint64_t total() const { return pass + fail + untrusted + unsupported; }
};

struct KernelSummary {
  VerdictCounts counts;
  std::optional<double> exact_coverage;          ///< over the kernel's exact cases, 0..1
  std::map<std::string, std::uint64_t> classes;  ///< of its generated cases
};

/// What a gate, a run or a fuzz came to: the one thing that terminal, JSON, JUnit and HTML print.
struct RunSummary {
  std::string device;              ///< "machine", "cuda", or "both"
  std::string device_description;  ///< for people; never in compared output
  std::uint64_t seed = 0;
  VerdictCounts counts;
  std::map<std::string, std::uint64_t> suites;  ///< cases by suite: generated, corpus, …
  std::map<std::string, KernelSummary> kernels;
  std::map<std::string, std::uint64_t> classes;  ///< generated cases by class
  std::map<std::string, std::uint64_t> rules;    ///< uses of each named exemption ("nan_payload")
  std::vector<std::string> notes;  ///< sentences for people: a class never hit, who compiled --ptx
  std::vector<CaseResult> cases;   ///< every case, in the order of the run
  double seconds = 0;              ///< never in compared output

  /// Appends the case and counts it under its verdict, suite, kernel and rules.
  void add(CaseResult result, const std::string& suite);
};

/// Writes report.json (every case), junit.xml and index.html into `directory`, made if missing;
/// each beside its target and renamed into place. InputError when it cannot be written.
void write_report(const RunSummary& summary, const std::filesystem::path& directory);

}  // namespace bitgate::conformance
