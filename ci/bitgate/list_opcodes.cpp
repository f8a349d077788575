#include "ci/bitgate/list_opcodes.h"

#include <string>
#include <vector>

#include "reference/machine/program/opcode_table.h"

namespace bitgate::command_line {

namespace {

nlohmann::ordered_json as_json(const std::vector<machine::OpcodeRow>& rows) {
  using machine::Support;
  nlohmann::ordered_json document{{"schema", "bitgate.opcodes/1"}};
  nlohmann::ordered_json& counts = document["counts"];
  for (const Support support : {Support::supported, Support::approximate, Support::unsupported}) {
    const machine::OpcodeCounts c = machine::count(rows, support);
    counts[std::string(name(support))] = {{"rows", c.rows},
                                          {"forms", c.forms},
                                          {"recorded_rows", c.recorded_rows},
                                          {"recorded_forms", c.recorded_forms}};
  }
  nlohmann::ordered_json& list = document["rows"] = nlohmann::ordered_json::array();
  for (const machine::OpcodeRow& row : rows) {
    nlohmann::ordered_json entry{
        {"opcode", row.opcode}, {"types", row.types}, {"support", std::string(name(row.support))}};
    if (!row.reason.empty()) entry["reason"] = row.reason;
    entry["forms"] = nlohmann::ordered_json::array();
    entry["recorded"] = nlohmann::ordered_json::array();
    for (const machine::OpcodeForm& form : row.forms) {
      entry["forms"].push_back(form.mnemonic);
      if (form.recorded) entry["recorded"].push_back(form.mnemonic);
    }
    list.push_back(std::move(entry));
  }
  return document;
}

}  // namespace

int list_opcodes(const Session& session) {
  const std::vector<machine::OpcodeRow> rows = machine::opcode_table();
  if (session.json) {
    session.print(as_json(rows));
  } else {
    session.out << machine::opcode_page(rows);
  }
  return 0;
}

}  // namespace bitgate::command_line
