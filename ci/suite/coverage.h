#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ci/suite/case_list.h"
#include "reference/machine/coverage.h"

namespace bitgate::suite {

struct CoverageOptions {
  std::string kernel_glob = "*";
  std::optional<conformance::Spec> spec;           ///< this case alone; none: the gate's cases
  std::filesystem::path ptx;                       ///< empty: the code built in
  std::vector<std::filesystem::path> checkpoints;  ///< as for the gate
  std::uint64_t seed = 1;
  const numeric::TensorModel* tensor_model = nullptr;
  std::chrono::nanoseconds time_limit = std::chrono::seconds(20);  ///< of one launch
  const volatile bool* interrupted = nullptr;
  std::function<void(std::uint64_t)> starts;  ///< how many cases are to come
  std::function<void(bool passed)> ran;       ///< after each
};

/// An instruction of a kernel's PTX, and what executed it.
struct CoveredInstruction {
  std::uint32_t ptx_line = 0;
  std::string text;
  std::string file;  ///< of the source, where its `.loc` stands; inlined code where it is written
  std::uint32_t line = 0;
  machine::Coverage::Count count;
};

/// All instructions of one line of the source.
struct CoveredLine {
  std::uint64_t instructions = 0;
  std::uint64_t executed = 0;  ///< of them
  machine::Coverage::Count count;
};
using CoveredLines = std::map<std::string, std::map<std::uint32_t, CoveredLine>>;  ///< by file

struct KernelCoverage {
  std::string kernel;
  std::uint64_t cases = 0;
  std::vector<CoveredInstruction> instructions;  ///< in the order of the PTX; empty: nothing ran

  std::uint64_t executed() const;
  /// Lines that instructions name; those of the CUDA headers are left out.
  CoveredLines lines() const;
};

struct CoverageOutcome {
  std::vector<KernelCoverage> kernels;  ///< in the order of kernels.inc
  std::uint64_t cases = 0;
  bool complete = false;  ///< all cases ran
  std::map<std::string, std::string>
      failed;  ///< replay line of each that did not pass: its verdict
};

/// Which PTX instructions and source lines the cases of the kernels reach on the machine: each case
/// is launched twice, under the plain schedule and another one, as the gate does. InputError when
/// no kernel matches.
CoverageOutcome measure_coverage(const CoverageOptions& options);

/// bitgate.coverage/1.
nlohmann::ordered_json coverage_document(const CoverageOutcome& outcome);
/// A line a kernel, and the source lines that it does not reach in full.
std::string coverage_text(const CoverageOutcome& outcome);
/// One page: a table of the kernels, then each source file, its lines marked. `folder`: where the
/// files' names begin; a file that is not there is shown without its text.
std::string coverage_html(const CoverageOutcome& outcome, const std::filesystem::path& folder);

/// 0 all cases ran and passed; 1 one failed; 3 ended early, or nothing ran.
int exit_code(const CoverageOutcome& outcome);

}  // namespace bitgate::suite
