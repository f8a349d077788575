#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string_view>

#include "ci/suite/coverage.h"
#include "conformance/report/text.h"

// How coverage is told: JSON, text, and a page of annotated source.

namespace bitgate::suite {

namespace {

using conformance::html_text;

struct Share {
  std::uint64_t executed = 0;
  std::uint64_t all = 0;
  std::string percent() const {
    return all == 0 ? "–"
                    : fmt::format("{:.1f} %",
                                  100.0 * static_cast<double>(executed) / static_cast<double>(all));
  }
};

Share instruction_share(const KernelCoverage& kernel) {
  return {kernel.executed(), kernel.instructions.size()};
}

/// Lines of which every instruction was executed.
Share line_share(const CoveredLines& files) {
  Share share;
  for (const auto& [file, lines] : files) {
    for (const auto& [number, line] : lines) {
      ++share.all;
      share.executed += line.executed == line.instructions ? 1U : 0U;
    }
  }
  return share;
}

std::string mask(std::uint32_t lanes) { return fmt::format("{:#010x}", lanes); }

nlohmann::ordered_json counts(const machine::Coverage::Count& count) {
  return {{"executions", count.executions},   {"partial", count.partial},
          {"skipped", count.skipped},         {"threads", count.threads},
          {"lanes_on", mask(count.lanes_on)}, {"lanes_off", mask(count.lanes_off)}};
}

std::vector<std::string> read_lines(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>bitgate coverage</title>
<style>
:root { color-scheme: light dark; --line: #8884; --all: #2a8f3c44; --some: #d9a40055; --none: #d0342c55; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 90rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; }
td, th { padding: .1rem .7rem; border-bottom: 1px solid var(--line); text-align: left; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
table.source { font: 13px/1.4 ui-monospace, monospace; }
table.source td { border: 0; padding: 0 .6rem; white-space: pre; }
table.source td.n { opacity: .7; }
tr.all td.s { background: var(--all); } tr.some td.s { background: var(--some); }
tr.none td.s { background: var(--none); }
</style></head><body>
)";

std::string lane_note(const machine::Coverage::Count& count) {
  if (count.executions == 0) return count.skipped == 0 ? "never reached" : "skipped by its guard";
  std::string note = fmt::format("lanes on {}", mask(count.lanes_on));
  if (count.lanes_off != 0) note += fmt::format(", off {}", mask(count.lanes_off));
  if (count.skipped != 0) note += fmt::format(", skipped {}", count.skipped);
  return note;
}

std::string source_row(std::uint32_t number, const CoveredLine* line, std::string_view text) {
  if (line == nullptr) {
    return fmt::format(
        "<tr><td class=\"n\">{}</td><td></td><td></td><td class=\"s\">{}</td></tr>\n", number,
        html_text(text));
  }
  const std::string_view state = line->executed == line->instructions ? "all"
                                 : line->executed == 0                ? "none"
                                                                      : "some";
  return fmt::format(
      "<tr class=\"{}\"><td class=\"n\">{}</td><td class=\"n\">{}/{}</td><td "
      "class=\"n\">{}{}</td><td class=\"s\" title=\"{}\">{}</td></tr>\n",
      state, number, line->executed, line->instructions, line->count.executions,
      line->count.partial != 0 ? fmt::format(" ({} partial)", line->count.partial) : "",
      html_text(lane_note(line->count)), html_text(text));
}

}  // namespace

nlohmann::ordered_json coverage_document(const CoverageOutcome& outcome) {
  using Json = nlohmann::ordered_json;
  Json document{{"schema", "bitgate.coverage/1"}, {"device", "machine"},
                {"cases", outcome.cases},         {"complete", outcome.complete},
                {"kernels", Json::array()},       {"failed", Json::array()}};
  for (const auto& [replay, verdict] : outcome.failed) {
    document["failed"].push_back({{"verdict", verdict}, {"replay", replay}});
  }
  for (const KernelCoverage& kernel : outcome.kernels) {
    const CoveredLines files = kernel.lines();
    const Share lines = line_share(files);
    Json entry{{"name", kernel.kernel},
               {"cases", kernel.cases},
               {"instructions", kernel.instructions.size()},
               {"executed", kernel.executed()},
               {"lines", lines.all},
               {"lines_executed", lines.executed},
               {"source", Json::array()},
               {"ptx", Json::array()}};
    for (const auto& [file, numbered] : files) {
      for (const auto& [number, line] : numbered) {
        Json one{{"file", file},
                 {"line", number},
                 {"instructions", line.instructions},
                 {"executed", line.executed}};
        one.update(counts(line.count));
        entry["source"].push_back(std::move(one));
      }
    }
    for (const CoveredInstruction& instruction : kernel.instructions) {
      Json one{{"ptx_line", instruction.ptx_line},
               {"instruction", instruction.text},
               {"file", instruction.file},
               {"line", instruction.line}};
      one.update(counts(instruction.count));
      entry["ptx"].push_back(std::move(one));
    }
    document["kernels"].push_back(std::move(entry));
  }
  return document;
}

std::string coverage_text(const CoverageOutcome& outcome) {
  std::string text;
  for (const KernelCoverage& kernel : outcome.kernels) {
    const CoveredLines files = kernel.lines();
    const Share instructions = instruction_share(kernel);
    const Share lines = line_share(files);
    text += fmt::format("{}: {} of {} PTX instructions, {} of {} source lines, {} cases\n",
                        kernel.kernel, instructions.percent(), instructions.all, lines.percent(),
                        lines.all, kernel.cases);
    for (const auto& [file, numbered] : files) {
      for (const auto& [number, line] : numbered) {
        if (line.executed == line.instructions) continue;
        text += fmt::format("  {}:{}: {} of {} instructions never executed\n", file, number,
                            line.instructions - line.executed, line.instructions);
      }
    }
  }
  for (const auto& [replay, verdict] : outcome.failed) {
    text += fmt::format("{}: {}\n", verdict, replay);
  }
  text += fmt::format("{} cases{}\n", outcome.cases, outcome.complete ? "" : ", ended early");
  return text;
}

std::string coverage_html(const CoverageOutcome& outcome, const std::filesystem::path& folder) {
  std::string html(kHead);
  html += fmt::format("<h1>Coverage of {} cases</h1>\n", outcome.cases);
  html +=
      "<table>\n<tr><th>kernel</th><th class=\"n\">cases</th><th class=\"n\">PTX "
      "instructions</th><th class=\"n\">executed</th><th class=\"n\">source lines</th><th "
      "class=\"n\">executed in full</th></tr>\n";
  CoveredLines all;
  for (const KernelCoverage& kernel : outcome.kernels) {
    const CoveredLines files = kernel.lines();
    for (const auto& [file, numbered] : files) {
      for (const auto& [number, line] : numbered) {
        CoveredLine& sum = all[file][number];
        sum.instructions += line.instructions;
        sum.executed += line.executed;
        sum.count.add(line.count);
      }
    }
    html += fmt::format(
        "<tr><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        html_text(kernel.kernel), kernel.cases, kernel.instructions.size(),
        instruction_share(kernel).percent(), line_share(files).all, line_share(files).percent());
  }
  html +=
      "</table>\n<p>A line's numbers: its PTX instructions that were executed, of all of them in "
      "the kernels above; how often warps executed one, and how often with a lane off. Hovering "
      "shows the lanes.</p>\n";
  for (const auto& [file, numbered] : all) {
    html += fmt::format("<h2><code>{}</code></h2>\n<table class=\"source\">\n", html_text(file));
    const std::vector<std::string> source = read_lines(folder / file);
    const auto last = std::max(static_cast<std::uint32_t>(source.size()), numbered.rbegin()->first);
    for (std::uint32_t number = 1; number <= last; ++number) {
      const auto line = numbered.find(number);
      if (source.empty() && line == numbered.end()) continue;
      html += source_row(number, line == numbered.end() ? nullptr : &line->second,
                         number <= source.size() ? source[number - 1] : std::string());
    }
    html += "</table>\n";
  }
  return html + "</body></html>\n";
}

}  // namespace bitgate::suite
