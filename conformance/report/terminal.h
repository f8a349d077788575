#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "conformance/report/report.h"

namespace bitgate::conformance {

enum class Colour { off, on };
/// `on` when the stream is a terminal and NO_COLOR (no-color.org) is not set.
Colour colour_for(std::FILE* stream);

/// One screen: counts, suites, kernels with coverage, classes, then what did not pass.
std::string terminal_summary(const RunSummary& summary, Colour colour);

/// "zero_point_off_by_one (+1) explains all"
std::string describe(const Diagnosis& diagnosis);

/// Everything known of one case, several lines, each with a newline: spec, kernel, verdict, checks,
/// first wrong element, diagnosis, a map of the wrong elements and the command that replays it.
std::string terminal_case(const CaseResult& result, Colour colour);

/// Where C is wrong, a character a cell: '.' right, '1'-'9' tenths of the cell wrong, '#' all.
/// Lines end in newlines; at most 16 × 64 cells are drawn, and what is left out is said.
std::string wrong_map_picture(const WrongMap& map);

/// A line on stderr that is rewritten as cases finish; silent when stderr is no terminal.
class Progress {
 public:
  /// `total` 0: unknown.
  Progress(std::string_view what, std::uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step(Verdict verdict);
  /// Erases the line, so that something else can be printed; the next step draws it again.
  void clear();

 private:
  void draw();
  std::string what_;
  std::uint64_t total_;
  VerdictCounts counts_;
  bool live_;
  std::int64_t drawn_at_ns_ = 0;
};

}  // namespace bitgate::conformance
