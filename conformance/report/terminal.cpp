#include "conformance/report/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "conformance/report/hazards.h"
#include "conformance/report/text.h"

namespace bitgate::conformance {
namespace {

constexpr std::size_t kCasesInFull = 10;
constexpr std::int64_t kMapRows = 16;
constexpr std::int64_t kMapCols = 64;

enum class Paint { good, bad, doubtful, strong };

std::string painted(std::string_view text, Paint paint, Colour colour) {
  if (colour == Colour::off) return std::string(text);
  const char* code = "1";
  if (paint == Paint::good) code = "32";
  if (paint == Paint::bad) code = "1;31";
  if (paint == Paint::doubtful) code = "33";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Paint paint_of(Verdict verdict) {
  if (verdict == Verdict::pass) return Paint::good;
  return verdict == Verdict::fail ? Paint::bad : Paint::doubtful;
}

std::string counted(Verdict verdict, std::uint64_t count, Colour colour) {
  const std::string text = fmt::format("{} {}", count, name(verdict));
  return count == 0 ? text : painted(text, paint_of(verdict), colour);
}

std::string counts_line(const VerdictCounts& counts, Colour colour) {
  return fmt::format("{}, {}, {}, {}", counted(Verdict::pass, counts.pass, colour),
                     counted(Verdict::fail, counts.fail, colour),
                     counted(Verdict::untrusted, counts.untrusted, colour),
                     counted(Verdict::unsupported, counts.unsupported, colour));
}

std::string conclusion(const VerdictCounts& counts, Colour colour) {
  if (counts.fail > 0) return painted("FAILED", Paint::bad, colour);
  if (counts.pass == 0) return painted("NOTHING PROVEN", Paint::doubtful, colour);
  if (counts.untrusted + counts.unsupported > 0) {
    return painted("NOT PROVEN", Paint::doubtful, colour);
  }
  return painted("PROVEN", Paint::good, colour);
}

/// "tail_n 97, act_order 40", wrapped at 100 columns under a heading.
std::string listed(std::string_view heading, const std::map<std::string, std::uint64_t>& counts) {
  std::string lines;
  std::string line = fmt::format("{:<10}", heading);
  for (auto at = counts.begin(); at != counts.end(); ++at) {
    const std::string item = fmt::format("{} {}{}", clean_text(at->first), at->second,
                                         std::next(at) == counts.end() ? "" : ",");
    if (line.size() + 1 + item.size() > 100) {
      lines += line + "\n";
      line = std::string(10, ' ');
    }
    line += (line.size() > 10 ? " " : "") + item;
  }
  return lines + line + "\n";
}

std::string kernel_lines(const RunSummary& summary, Colour colour) {
  std::size_t width = 0;
  for (const auto& [kernel, ignored] : summary.kernels) width = std::max(width, kernel.size());
  std::string text;
  for (const auto& [kernel, kernel_summary] : summary.kernels) {
    const VerdictCounts& counts = kernel_summary.counts;
    const std::string coverage =
        kernel_summary.exact_coverage
            ? fmt::format("exact coverage {:.1f} %", 100 * *kernel_summary.exact_coverage)
            : "";
    std::string line = fmt::format("  {:<{}}  {:>5} of {:>5} pass  {}", clean_text(kernel), width,
                                   counts.pass, counts.total(), coverage);
    line.erase(line.find_last_not_of(' ') + 1);
    text += counts.pass == counts.total() ? line : painted(line, Paint::bad, colour);
    text += '\n';
  }
  return text;
}

std::string labelled(std::string_view label, std::string_view text) {
  return fmt::format("  {:<9} {}\n", label, clean_text(text));
}

}  // namespace

Colour colour_for(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool refused = no_color != nullptr && *no_color != '\0';
  return isatty(fileno(stream)) == 1 && !refused ? Colour::on : Colour::off;
}

std::string terminal_summary(const RunSummary& summary, Colour colour) {
  std::string text =
      fmt::format("{} on {}{}, seed {}, {:.1f} s: {}\n", conclusion(summary.counts, colour),
                  clean_text(summary.device),
                  summary.device_description.empty()
                      ? ""
                      : fmt::format(" ({})", clean_text(summary.device_description)),
                  summary.seed, summary.seconds, counts_line(summary.counts, colour));
  if (!summary.kernels.empty()) {
    text += fmt::format("kernels   {}\n", summary.kernels.size());
    text += kernel_lines(summary, colour);
  }
  if (!summary.suites.empty()) text += listed("suites", summary.suites);
  if (!summary.classes.empty()) text += listed("classes", summary.classes);
  if (!summary.rules.empty()) text += listed("rules", summary.rules);
  for (const std::string& note : summary.notes)
    text += fmt::format("note      {}\n", clean_text(note));

  std::size_t shown = 0;
  for (const CaseResult& result : summary.cases) {
    if (result.verdict == Verdict::pass) continue;
    if (shown == kCasesInFull) text += "\nand also:\n";
    if (shown++ < kCasesInFull) {
      text += "\n" + terminal_case(result, colour);
    } else {
      text +=
          fmt::format("{} {}\n", painted(name(result.verdict), paint_of(result.verdict), colour),
                      clean_text(result.replay));
    }
  }
  return text;
}

std::string describe(const Diagnosis& diagnosis) {
  return fmt::format("{}{} explains {}", diagnosis.hypothesis,
                     diagnosis.variant.empty() ? "" : fmt::format(" ({})", diagnosis.variant),
                     diagnosis.explains);
}

std::string terminal_case(const CaseResult& result, Colour colour) {
  std::string text =
      fmt::format("{} {} on {}\n", painted(name(result.verdict), paint_of(result.verdict), colour),
                  clean_text(result.kernel), clean_text(result.device));
  text += labelled("spec", result.spec);
  for (const CheckResult& check : result.checks) {
    text += labelled(check.name, check.message.empty()
                                     ? std::string(name(check.verdict))
                                     : fmt::format("{}: {}", name(check.verdict), check.message));
  }
  if (!result.out_sha256.empty()) text += labelled("out", "sha256 " + result.out_sha256);
  if (result.max_error) {
    text += labelled("max error", result.bound_at_max
                                      ? fmt::format("{} (bound there {})", *result.max_error,
                                                    *result.bound_at_max)
                                      : fmt::format("{}", *result.max_error));
  }
  if (result.first_bad) {
    const FirstBad& bad = *result.first_bad;
    text += labelled(
        "first bad",
        fmt::format("row {}, column {}: got {}, want {}; block ({}, {}, {}), warp {}, lane {}, "
                    "register {}",
                    bad.row, bad.col, bad.got, bad.want, bad.block[0], bad.block[1], bad.block[2],
                    bad.warp, bad.lane, bad.reg));
  }
  for (const Diagnosis& diagnosis : result.diagnosis) {
    text += labelled("diagnosis", describe(diagnosis));
  }
  for (const machine::hazard::Report& hazard : result.hazards) text += hazard_text(hazard, "  ");
  if (result.wrong_map) {
    const WrongMap& map = *result.wrong_map;
    text += labelled("wrong", fmt::format("in C [{}, {}], a character is {} × {} elements",
                                          map.rows, map.cols, map.cell_rows, map.cell_cols));
    const std::string drawn = wrong_map_picture(map);
    for (std::string_view picture = drawn; !picture.empty();) {
      const std::string_view line = picture.substr(0, picture.find('\n'));
      text += labelled("", line);
      picture.remove_prefix(std::min(line.size() + 1, picture.size()));
    }
  }
  if (!result.replay.empty()) text += labelled("replay", result.replay);
  return text;
}

std::string wrong_map_picture(const WrongMap& map) {
  const std::int64_t cell_rows = std::max<std::int64_t>(map.cell_rows, 1);
  const std::int64_t cell_cols = std::max<std::int64_t>(map.cell_cols, 1);
  const std::int64_t down = (map.rows + cell_rows - 1) / cell_rows;
  const std::int64_t across = (map.cols + cell_cols - 1) / cell_cols;
  std::string text;
  for (std::int64_t r = 0; r < std::min(down, kMapRows); ++r) {
    for (std::int64_t c = 0; c < std::min(across, kMapCols); ++c) {
      const auto at = static_cast<std::size_t>(r * across + c);
      const std::uint32_t wrong = at < map.wrong.size() ? map.wrong[at] : 0;
      const std::int64_t elements = std::min(cell_rows, map.rows - r * cell_rows) *
                                    std::min(cell_cols, map.cols - c * cell_cols);
      if (wrong == 0) {
        text += '.';
      } else if (wrong >= elements) {
        text += '#';
      } else {
        text += static_cast<char>('0' + std::clamp<std::int64_t>(10 * wrong / elements, 1, 9));
      }
    }
    text += '\n';
  }
  if (down > kMapRows || across > kMapCols) {
    text += fmt::format("({} × {} cells, the first {} × {} drawn)\n", down, across,
                        std::min(down, kMapRows), std::min(across, kMapCols));
  }
  return text;
}

Progress::Progress(std::string_view what, std::uint64_t total)
    : what_(clean_text(what)), total_(total), live_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::step(Verdict verdict) {
  counts_.add(verdict);
  if (!live_) return;
  const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::steady_clock::now().time_since_epoch())
                               .count();
  // Ten times a second is as fast as anyone reads.
  if (now - drawn_at_ns_ < 100'000'000) return;
  drawn_at_ns_ = now;
  draw();
}

void Progress::clear() {
  if (live_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::draw() {
  std::string line = fmt::format("{} {}", what_, counts_.total());
  if (total_ > 0) line += fmt::format(" of {}", total_);
  if (counts_.fail > 0) line += fmt::format(", {} failed", counts_.fail);
  if (counts_.untrusted > 0) line += fmt::format(", {} untrusted", counts_.untrusted);
  if (counts_.unsupported > 0) line += fmt::format(", {} unsupported", counts_.unsupported);
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
}

}  // namespace bitgate::conformance
