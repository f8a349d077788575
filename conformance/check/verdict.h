#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/problem/coverage.h"
#include "reference/machine/hazard/report.h"

namespace bitgate::conformance {

/// What a check, and a case as a whole, concludes (DESIGN: Verdicts).
enum class Verdict { pass, fail, untrusted, unsupported };
std::string_view name(Verdict verdict);
/// The worse of two: fail over unsupported over untrusted over pass.
Verdict worse(Verdict a, Verdict b);

struct CheckResult {
  std::string name;  ///< "exact", "replay", "bound", "guards", "written", "rerun", "launch", …
  Verdict verdict = Verdict::pass;
  std::string message;  ///< one sentence; empty for pass
};

/// The first element that differs, row-major, and who computed it.
struct FirstBad {
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::string got;  ///< bits in hex and the value, "0x3c00 (1)"
  std::string want;
  std::array<std::uint32_t, 3> block{};
  int warp = 0;
  int lane = 0;
  int reg = 0;
};

/// How many elements of C are wrong in each cell of cell_rows × cell_cols (a tile, or a block of
/// tiles where there are many), cells row-major; the last row and column of cells may be cut off.
struct WrongMap {
  std::int64_t rows = 0;  ///< of C
  std::int64_t cols = 0;
  std::int64_t cell_rows = 1;
  std::int64_t cell_cols = 1;
  std::vector<std::uint32_t> wrong;
};

struct Diagnosis {
  std::string hypothesis;  ///< "zero_point_off_by_one", …
  std::string explains;    ///< "all", or "97.5 %": of the wrong outputs that were looked at
  std::string variant;     ///< which form of it, "+1"; empty when there is one
};

/// Everything one case of one kernel on one device came to.
struct CaseResult {
  std::string spec;  ///< canonical
  std::string kernel;
  std::string device;
  Verdict verdict = Verdict::pass;
  std::vector<CheckResult> checks;
  std::string out_sha256;
  std::optional<double> max_error;
  std::optional<double> bound_at_max;
  std::optional<FirstBad> first_bad;
  std::optional<WrongMap> wrong_map;  ///< for pictures; not in JSON
  std::vector<Diagnosis> diagnosis;
  std::vector<machine::hazard::Report> hazards;  ///< machine only
  std::optional<double> exact_coverage;          ///< coverage->share(), 0..1
  std::optional<Coverage> coverage;  ///< of an exact fill; counted over a kernel's cases
  /// Uses of each named exemption: "nan_payload".
  std::map<std::string, std::uint64_t> rules;
  std::string replay;  ///< the command
  double seconds = 0;  ///< never in compared output
};

}  // namespace bitgate::conformance
