#include "conformance/report/junit.h"

#include <fmt/format.h>

#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <vector>

#include "conformance/report/terminal.h"
#include "conformance/report/text.h"

namespace bitgate::conformance {
namespace {

void set(pugi::xml_node node, const char* attribute, std::string_view value) {
  node.append_attribute(attribute).set_value(clean_text(value).c_str());
}

void set_counts(pugi::xml_node node, const VerdictCounts& counts) {
  set(node, "tests", std::to_string(counts.total()));
  set(node, "failures", std::to_string(counts.fail));
  set(node, "errors", std::to_string(counts.untrusted + counts.unsupported));
}

/// The first message of a check that did not pass.
std::string reason(const CaseResult& result) {
  for (const CheckResult& check : result.checks) {
    if (check.verdict != Verdict::pass) return fmt::format("{}: {}", check.name, check.message);
  }
  return std::string(name(result.verdict));
}

void append_case(pugi::xml_node suite, const CaseResult& result) {
  pugi::xml_node test = suite.append_child("testcase");
  set(test, "classname", fmt::format("{}.{}", result.device, result.kernel));
  set(test, "name", result.spec);
  set(test, "time", fmt::format("{:.3f}", result.seconds));
  if (result.verdict == Verdict::pass) return;
  pugi::xml_node problem = test.append_child(result.verdict == Verdict::fail ? "failure" : "error");
  set(problem, "type", name(result.verdict));
  set(problem, "message", reason(result));
  problem.append_child(pugi::node_pcdata)
      .set_value(clean_text(terminal_case(result, Colour::off)).c_str());
}

}  // namespace

std::string junit_report(const RunSummary& summary) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version").set_value("1.0");
  declaration.append_attribute("encoding").set_value("UTF-8");
  pugi::xml_node root = document.append_child("testsuites");
  set(root, "name", "bitgate");
  set_counts(root, summary.counts);

  std::map<std::string, std::vector<const CaseResult*>> by_kernel;
  for (const CaseResult& result : summary.cases) by_kernel[result.kernel].push_back(&result);
  for (const auto& [kernel, results] : by_kernel) {
    pugi::xml_node suite = root.append_child("testsuite");
    set(suite, "name", kernel);
    VerdictCounts counts;
    for (const CaseResult* result : results) counts.add(result->verdict);
    set_counts(suite, counts);
    for (const CaseResult* result : results) append_case(suite, *result);
  }
  std::ostringstream text;
  document.save(text, " ", pugi::format_default, pugi::encoding_utf8);
  return text.str();
}

}  // namespace bitgate::conformance
