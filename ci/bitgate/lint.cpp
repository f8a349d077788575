#include "reference/machine/ptx/lint.h"

#include <fmt/format.h>

#include "ci/bitgate/command.h"
#include "reference/machine/ptx/parser.h"
#include "reference/support/file.h"

namespace bitgate::command_line {

using machine::ptx::LintFinding;
using nlohmann::ordered_json;

namespace {

const char* name_of(LintFinding::Kind kind) {
  switch (kind) {
    case LintFinding::Kind::contractible:
      return "contractible";
    case LintFinding::Kind::approximate:
      return "approximate";
    case LintFinding::Kind::activemask:
      return "activemask";
    case LintFinding::Kind::float_atomic:
      return "float_atomic";
    case LintFinding::Kind::clock:
      return "clock";
  }
  return "?";
}

int lint_file(const Session& session, const std::string& file) {
  const auto findings = machine::ptx::lint(machine::ptx::parse(read_text_file(file), file));
  if (session.json) {
    ordered_json document = {
        {"schema", "bitgate.lint/1"}, {"file", file}, {"findings", ordered_json::array()}};
    for (const LintFinding& finding : findings) {
      document["findings"].push_back({{"kind", name_of(finding.kind)},
                                      {"entry", finding.entry},
                                      {"instruction", finding.instruction},
                                      {"ptx_line", finding.ptx_line},
                                      {"file", finding.file},
                                      {"line", finding.line},
                                      {"why", finding.why}});
    }
    session.print(document);
  } else {
    for (const LintFinding& finding : findings) {
      session.out << fmt::format(
          "{}:{}: {}: {} in {}{}: {}\n", file, finding.ptx_line, name_of(finding.kind),
          finding.instruction, finding.entry,
          finding.line == 0 ? std::string() : fmt::format(" ({}:{})", finding.file, finding.line),
          finding.why);
    }
    session.out << fmt::format("{}: {} findings\n", file, findings.size());
  }
  return findings.empty() ? kProven : kFailed;
}

}  // namespace

void add_lint(CLI::App& program, Session& session) {
  const auto file = std::make_shared<std::string>();
  Command command =
      add_command(program, session, "lint", "instructions whose result PTX does not fix",
                  [&session, file] { return lint_file(session, *file); });
  command.required("FILE.ptx", *file, "a PTX module");
}

}  // namespace bitgate::command_line
