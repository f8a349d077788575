#include "reference/machine/program/opcode_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "reference/machine/program/decode_table.h"

namespace bitgate::machine {
namespace {

TEST(DecodeTable, NoMnemonicIsAddedTwice) {
  for (const std::string& mnemonic : DecodeTable::instance().repeated()) ADD_FAILURE() << mnemonic;
}

TEST(DecodeTable, BracesExpandAsInAShell) {
  EXPECT_EQ(expand_braces("ret"), std::vector<std::string>{"ret"});
  EXPECT_EQ(expand_braces("a{b,c}{,d}"), (std::vector<std::string>{"ab", "abd", "ac", "acd"}));
  EXPECT_EQ(expand_braces("ld.{u8}.x"), std::vector<std::string>{"ld.u8.x"});
}

TEST(DecodeTable, ListedFormsReachTheirDecoder) {
  const DecodeTable& table = DecodeTable::instance();
  for (const auto& [mnemonic, row] : table.rows()) {
    std::set<std::string> seen;
    for (const std::string& form : row.forms) {
      EXPECT_EQ(table.find(form, form.substr(0, form.find('.'))), &row) << form;
      EXPECT_TRUE(seen.insert(form).second) << form << " is listed twice";
    }
  }
}

TEST(OpcodeTable, RowsAreOpcodeAndTypes) {
  EXPECT_EQ(opcode_and_types("cvt.rn.relu.f16.f32"), "cvt.f16.f32");
  EXPECT_EQ(opcode_and_types("add.s16x2"), "add.s16x2");
  EXPECT_EQ(opcode_and_types("bar.sync"), "bar");
  EXPECT_EQ(opcode_and_types("mma.sync.aligned.m16n8k32.row.col.s32.u4.s4.s32"),
            "mma.s32.u4.s4.s32");
  const std::vector<OpcodeRow> rows = opcode_table();
  const auto row = std::ranges::find_if(
      rows, [](const OpcodeRow& r) { return r.opcode == "add" && r.types == "f32"; });
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->support, Support::supported);
  EXPECT_EQ(row->forms.size(), 20U);  // five roundings, .ftz, .sat
}

TEST(OpcodeTable, CountsAddUp) {
  const std::vector<OpcodeRow> rows = opcode_table();
  std::size_t forms = 0;
  for (const auto& [mnemonic, row] : DecodeTable::instance().rows()) {
    forms += std::max<std::size_t>(row.forms.size(), 1);
  }
  std::size_t counted = 0;
  std::size_t counted_rows = 0;
  for (const Support support : {Support::supported, Support::approximate, Support::unsupported}) {
    const OpcodeCounts counts = count(rows, support);
    counted += counts.forms;
    counted_rows += counts.rows;
    EXPECT_LE(counts.recorded_forms, counts.forms);
  }
  EXPECT_EQ(counted, forms);
  EXPECT_EQ(counted_rows, rows.size());
}

TEST(OpcodeTable, RecordedMnemonicsAreInTheTable) {
  std::set<std::string> known;
  for (const OpcodeRow& row : opcode_table()) {
    for (const OpcodeForm& form : row.forms) known.insert(form.mnemonic);
  }
  for (const std::string& form : recorded_mnemonics()) EXPECT_TRUE(known.contains(form)) << form;
}

TEST(OpcodeTable, ThePageIsUpToDate) {
  std::ifstream file(std::string(BITGATE_SOURCE_DIR) + "/reference/machine/docs/opcodes.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_TRUE(page.str() == opcode_page(opcode_table()))
      << "after a change of the table: build/bitgate exec --list-opcodes > "
         "reference/machine/docs/opcodes.md";
}

}  // namespace
}  // namespace bitgate::machine
