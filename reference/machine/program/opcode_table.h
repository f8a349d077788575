#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgate::machine {

/// What the decode table says of the instruction set, for people: one row an opcode, its types and
/// what the machine makes of them.

enum class Support : std::uint8_t {
  supported,    ///< the H200's bits
  approximate,  ///< runs in a stated model: PTX fixes no bits
  unsupported
};
std::string_view name(Support support);

struct OpcodeForm {
  std::string mnemonic;   ///< as written: "add.rn.ftz.f32"
  bool recorded = false;  ///< vectors of it were recorded from hardware and are replayed in tests
};

struct OpcodeRow {
  std::string opcode;  ///< "add"
  std::string types;   ///< "f32", "f16.f32"; empty where the mnemonic has none
  Support support = Support::supported;
  std::string reason;  ///< of unsupported ones
  std::vector<OpcodeForm> forms;
};

/// All rows, by opcode, types and support. Every mnemonic of the decode table is in one of them; a
/// decoder that lists no forms is one form by its opcode.
std::vector<OpcodeRow> opcode_table();

/// What a mnemonic's row is called: opcode and types, "cvt.f16.f32" for "cvt.rn.relu.f16.f32".
std::string opcode_and_types(std::string_view mnemonic);

/// The mnemonics that hardware vectors test: a unit test replays each of their forms.
std::set<std::string> recorded_mnemonics();

/// The table as a page of Markdown, with its counts.
std::string opcode_page(std::span<const OpcodeRow> rows);

struct OpcodeCounts {
  std::size_t rows = 0;
  std::size_t forms = 0;
  std::size_t recorded_rows = 0;  ///< with at least one recorded form
  std::size_t recorded_forms = 0;
};
OpcodeCounts count(std::span<const OpcodeRow> rows, Support support);

}  // namespace bitgate::machine
