#include "reference/machine/program/opcode_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "reference/machine/program/decode_table.h"
#include "reference/machine/ptx/types.h"
#include "reference/machine/vectors/form.h"

namespace bitgate::machine {

namespace {

/// Types of operands that no variable can have.
constexpr std::array<std::string_view, 10> kElementTypes{
    "u16x2", "s16x2", "u8x4", "s8x4", "u4", "s4", "u2", "s2", "b1", "e4m3x4"};

bool names_type(std::string_view word) {
  return ptx::is_type(word) || std::ranges::find(kElementTypes, word) != kElementTypes.end();
}

std::vector<std::string_view> words_of(std::string_view mnemonic) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= mnemonic.size();) {
    // "::" joins words: ".shared::cta" is one.
    const std::size_t end = std::min(mnemonic.find('.', begin), mnemonic.size());
    words.push_back(mnemonic.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string types_of(std::string_view mnemonic) {
  std::string types;
  for (const std::string_view word : words_of(mnemonic)) {
    if (!names_type(word)) continue;
    if (!types.empty()) types += '.';
    types += word;
  }
  return types;
}

/// The words that are neither opcode nor type, each once, in the order of their first appearance.
std::string modifiers_of(const OpcodeRow& row) {
  std::vector<std::string_view> seen;
  std::string result;
  for (const OpcodeForm& form : row.forms) {
    const std::vector<std::string_view> words = words_of(form.mnemonic);
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (names_type(words[i]) || std::ranges::find(seen, words[i]) != seen.end()) continue;
      seen.push_back(words[i]);
      result += fmt::format("{}.{}", result.empty() ? "" : " ", words[i]);
    }
  }
  return result;
}

}  // namespace

std::string_view name(Support support) {
  switch (support) {
    case Support::supported:
      return "supported";
    case Support::approximate:
      return "approximate";
    case Support::unsupported:
      return "unsupported";
  }
  return "?";
}

std::string opcode_and_types(std::string_view mnemonic) {
  const std::string types = types_of(mnemonic);
  return std::string(mnemonic.substr(0, mnemonic.find('.'))) + (types.empty() ? "" : ".") + types;
}

std::set<std::string> recorded_mnemonics() {
  std::set<std::string> mnemonics;
  for (const vectors::Form& form : vectors::forms()) {
    for (std::string& mnemonic : vectors::mnemonics(form)) mnemonics.insert(std::move(mnemonic));
  }
  return mnemonics;
}

std::vector<OpcodeRow> opcode_table() {
  std::map<std::tuple<std::string, std::string, Support, std::string>, OpcodeRow> rows;
  const std::set<std::string> recorded = recorded_mnemonics();
  const auto add = [&](const std::string& mnemonic, const DecodeTable::Row& from) {
    const Support support = !from.unsupported.empty() ? Support::unsupported
                            : from.approximate        ? Support::approximate
                                                      : Support::supported;
    const std::string opcode = mnemonic.substr(0, mnemonic.find('.'));
    const std::string reason(from.unsupported);
    const std::string types = types_of(mnemonic);
    OpcodeRow& row = rows[{opcode, types, support, reason}];
    row.opcode = opcode;
    row.types = types;
    row.support = support;
    row.reason = reason;
    row.forms.push_back({mnemonic, recorded.contains(mnemonic)});
  };
  for (const auto& [mnemonic, row] : DecodeTable::instance().rows()) {
    if (row.forms.empty()) add(mnemonic, row);
    for (const std::string& form : row.forms) add(form, row);
  }
  std::vector<OpcodeRow> result;
  for (auto& [key, row] : rows) result.push_back(std::move(row));
  return result;
}

OpcodeCounts count(std::span<const OpcodeRow> rows, Support support) {
  OpcodeCounts counts;
  for (const OpcodeRow& row : rows) {
    if (row.support != support) continue;
    const auto recorded = static_cast<std::size_t>(
        std::ranges::count_if(row.forms, [](const OpcodeForm& form) { return form.recorded; }));
    ++counts.rows;
    counts.forms += row.forms.size();
    counts.recorded_rows += recorded > 0 ? 1U : 0U;
    counts.recorded_forms += recorded;
  }
  return counts;
}

std::string opcode_page(std::span<const OpcodeRow> rows) {
  std::string page =
      "# Opcodes of the reference machine\n\n"
      "Made from the decode table: `build/bitgate exec --list-opcodes > "
      "reference/machine/docs/opcodes.md`. A row is an opcode with its types; a form is a whole "
      "mnemonic. Tested against hardware: vectors of the form were recorded from an H200 and are "
      "replayed in the unit tests. Approximate: PTX fixes no bits of the result, and the machine "
      "runs a stated model.\n\n"
      "| | rows | forms | rows tested against hardware | forms tested against hardware |\n"
      "|---|---|---|---|---|\n";
  for (const Support support : {Support::supported, Support::approximate, Support::unsupported}) {
    const OpcodeCounts counts = count(rows, support);
    page += fmt::format("| {} | {} | {} | {} | {} |\n", name(support), counts.rows, counts.forms,
                        counts.recorded_rows, counts.recorded_forms);
  }
  page +=
      "\n| opcode | types | support | forms | tested against hardware | modifiers or reason |\n"
      "|---|---|---|---|---|---|\n";
  for (const OpcodeRow& row : rows) {
    const auto recorded =
        std::ranges::count_if(row.forms, [](const OpcodeForm& form) { return form.recorded; });
    page += fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.opcode, row.types,
                        name(row.support), row.forms.size(), recorded,
                        row.support == Support::unsupported ? row.reason : modifiers_of(row));
  }
  return page;
}

}  // namespace bitgate::machine
