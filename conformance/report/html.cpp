#include "conformance/report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "conformance/report/hazards.h"
#include "conformance/report/terminal.h"
#include "conformance/report/text.h"

namespace bitgate::conformance {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>bitgate report</title>
<style>
:root { color-scheme: light dark; --line: #8884; --good: #2a8f3c; --bad: #d0342c; --doubt: #b07800; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: #8881; padding: .5rem; white-space: pre-wrap; }
article { border-left: .3rem solid var(--bad); padding: .1rem 1rem; margin: 1rem 0; }
article.untrusted, article.unsupported { border-color: var(--doubt); }
.pass { color: var(--good); } .fail { color: var(--bad); } .untrusted, .unsupported { color: var(--doubt); }
article h3 { font-size: 1rem; } article p, article table { color: CanvasText; }
svg { background: #8881; }
</style></head><body>
)";

std::string count_table(std::string_view heading,
                        const std::map<std::string, std::uint64_t>& counts) {
  if (counts.empty()) return {};
  std::string html = fmt::format("<h2>{}</h2>\n<table>\n", heading);
  for (const auto& [key, count] : counts) {
    html += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td></tr>\n", html_text(key), count);
  }
  return html + "</table>\n";
}

std::string kernel_table(const RunSummary& summary) {
  std::string html =
      "<h2>Kernels</h2>\n<table>\n<tr><th>kernel</th><th class=\"n\">pass</th><th "
      "class=\"n\">fail</th><th class=\"n\">untrusted</th><th class=\"n\">unsupported</th><th "
      "class=\"n\">exact coverage</th><th>classes</th></tr>\n";
  for (const auto& [kernel, one] : summary.kernels) {
    std::string classes;
    for (const auto& [key, count] : one.classes) {
      classes += fmt::format("{}{} {}", classes.empty() ? "" : ", ", html_text(key), count);
    }
    html += fmt::format(
        "<tr><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
        html_text(kernel), one.counts.pass, one.counts.fail, one.counts.untrusted,
        one.counts.unsupported,
        one.exact_coverage ? fmt::format("{:.1f} %", 100 * *one.exact_coverage) : "", classes);
  }
  return html + "</table>\n";
}

/// A square a cell, the redder the more of it is wrong.
std::string map_picture(const WrongMap& map) {
  const std::int64_t cell_rows = std::max<std::int64_t>(map.cell_rows, 1);
  const std::int64_t cell_cols = std::max<std::int64_t>(map.cell_cols, 1);
  const std::int64_t down = (map.rows + cell_rows - 1) / cell_rows;
  const std::int64_t across = (map.cols + cell_cols - 1) / cell_cols;
  std::string html = fmt::format(
      "<p>Wrong elements of C [{}, {}]; a square is {} × {} elements.</p>\n<svg width=\"{}\" "
      "height=\"{}\" role=\"img\" aria-label=\"map of wrong elements\">\n",
      map.rows, map.cols, map.cell_rows, map.cell_cols, across * 12, down * 12);
  for (std::size_t i = 0; i < map.wrong.size(); ++i) {
    if (map.wrong[i] == 0 || across == 0) continue;
    const std::int64_t r = static_cast<std::int64_t>(i) / across;
    const std::int64_t c = static_cast<std::int64_t>(i) % across;
    const std::int64_t elements = std::min(cell_rows, map.rows - r * cell_rows) *
                                  std::min(cell_cols, map.cols - c * cell_cols);
    const double share =
        std::min(1.0, static_cast<double>(map.wrong[i]) /
                          static_cast<double>(std::max<std::int64_t>(elements, 1)));
    html += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"11\" height=\"11\" fill=\"#d0342c\" "
        "fill-opacity=\"{:.2f}\"><title>row {}, column {}: {} of {} wrong</title></rect>\n",
        c * 12, r * 12, 0.25 + 0.75 * share, r * cell_rows, c * cell_cols, map.wrong[i], elements);
  }
  return html + "</svg>\n";
}

std::string checks_table(const CaseResult& result) {
  std::string html = "<table>\n";
  for (const CheckResult& check : result.checks) {
    html += fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td><td>{}</td></tr>\n",
                        html_text(check.name), name(check.verdict), name(check.verdict),
                        html_text(check.message));
  }
  return html + "</table>\n";
}

std::string failure(const CaseResult& result) {
  const std::string_view verdict = name(result.verdict);
  std::string html = fmt::format(
      "<article class=\"{}\">\n<h3>{}: <code>{}</code> on {}</h3>\n<p><code>{}</code></p>\n",
      verdict, verdict, html_text(result.kernel), html_text(result.device), html_text(result.spec));
  html += checks_table(result);
  if (result.first_bad) {
    const FirstBad& bad = *result.first_bad;
    html += fmt::format(
        "<p>First wrong element: row {}, column {}; got <code>{}</code>, want <code>{}</code>; "
        "block "
        "({}, {}, {}), warp {}, lane {}, register {}.</p>\n",
        bad.row, bad.col, html_text(bad.got), html_text(bad.want), bad.block[0], bad.block[1],
        bad.block[2], bad.warp, bad.lane, bad.reg);
  }
  for (const Diagnosis& diagnosis : result.diagnosis) {
    html += fmt::format("<p>Diagnosis: {}.</p>\n", html_text(describe(diagnosis)));
  }
  if (!result.hazards.empty()) {
    html += "<pre>";
    for (const machine::hazard::Report& hazard : result.hazards) {
      html += html_text(hazard_text(hazard, ""));
    }
    html += "</pre>\n";
  }
  if (result.wrong_map) html += map_picture(*result.wrong_map);
  if (!result.replay.empty()) html += fmt::format("<pre>{}</pre>\n", html_text(result.replay));
  return html + "</article>\n";
}

std::string all_cases(const RunSummary& summary) {
  std::string html = fmt::format(
      "<details><summary>All {} cases</summary>\n<table>\n<tr><th>verdict</th><th>kernel</th><th>"
      "spec</th><th>device</th><th>out_sha256</th></tr>\n",
      summary.cases.size());
  for (const CaseResult& result : summary.cases) {
    html += fmt::format(
        "<tr><td class=\"{}\">{}</td><td><code>{}</code></td><td><code>{}</code></td><td>{}</"
        "td><td><code title=\"{}\">{}</code></td></tr>\n",
        name(result.verdict), name(result.verdict), html_text(result.kernel),
        html_text(result.spec), html_text(result.device), html_text(result.out_sha256),
        html_text(std::string_view(result.out_sha256).substr(0, 12)));
  }
  return html + "</table>\n</details>\n";
}

}  // namespace

std::string html_report(const RunSummary& summary) {
  std::string html(kHead);
  html += fmt::format("<h1>bitgate on {}</h1>\n", html_text(summary.device));
  html += fmt::format("<p>{}, seed {}, {:.1f} s. {} cases: ", html_text(summary.device_description),
                      summary.seed, summary.seconds, summary.counts.total());
  html += fmt::format(
      "<b class=\"pass\">{} pass</b>, <b class=\"fail\">{} fail</b>, <b class=\"untrusted\">{} "
      "untrusted</b>, <b class=\"unsupported\">{} unsupported</b>.</p>\n",
      summary.counts.pass, summary.counts.fail, summary.counts.untrusted,
      summary.counts.unsupported);
  for (const std::string& note : summary.notes) {
    html += fmt::format("<p>{}</p>\n", html_text(note));
  }
  if (summary.counts.pass != summary.counts.total()) {
    html += "<h2>Not passed</h2>\n";
    for (const CaseResult& result : summary.cases) {
      if (result.verdict != Verdict::pass) html += failure(result);
    }
  }
  html += kernel_table(summary);
  html += count_table("Suites", summary.suites);
  html += count_table("Classes of generated cases", summary.classes);
  html += count_table("Rules applied", summary.rules);
  html += "<h2>Cases</h2>\n" + all_cases(summary);
  return html + "</body></html>\n";
}

}  // namespace bitgate::conformance
