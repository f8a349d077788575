#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/machine/program/code.h"

namespace bitgate::machine {

class InstructionBuilder;

/// The one decode table: what the machine can execute, and what it knows and cannot.
///
/// A row is either a whole mnemonic ("add.s32": opcode, modifiers and types as written) whose
/// operands are plain lanes, or an opcode ("ld") whose modifiers a decoder of its group reads.
/// Rows are added by one function an instruction group, below; each stands in the file of exec/
/// that has the group's semantics. To add an instruction: add a row there, and a test beside it.
class DecodeTable {
 public:
  /// Builds the op or throws Unsupported with the reason.
  using Decoder = void (*)(InstructionBuilder&);

  struct Row {
    std::string mnemonic;
    // Plain lanes: kinds of the operands in order, destinations first.
    std::vector<Kind> operands;
    std::size_t destinations = 1;
    Handler full = nullptr;
    Handler masked = nullptr;
    std::string_view type;           ///< float type of immediates: "f32", "f64" or ""
    std::int64_t immediate = 0;      ///< into Op::immediate, for a handler that serves several rows
    Decoder decoder = nullptr;       ///< of the operands; it finds handlers and immediate in the op
    std::string_view unsupported;    ///< why; empty: supported
    bool approximate = false;        ///< PTX does not fix its bits: the machine runs a stated model
    std::vector<std::string> forms;  ///< of a decoder: the mnemonics it takes, for the opcode table
  };

  static const DecodeTable& instance();

  /// The row of the whole mnemonic, else of the opcode; null when neither is known.
  const Row* find(const std::string& mnemonic, const std::string& opcode) const;
  const std::map<std::string, Row>& rows() const { return rows_; }

  void add(const Row& row);
  void decoder(std::string opcode, Decoder decoder);
  /// Lists the mnemonics that the decoder of `opcode` takes. Each pattern is written with braces,
  /// as for a shell: "ld{,.global,.shared}{,.v2,.v4}.{u32,f32}" stands for eighteen. What a pattern
  /// leaves out still decodes; it is missing in the table that people read, and in its counts.
  void forms(const std::string& opcode, std::initializer_list<std::string_view> patterns);
  /// An opcode, or whole mnemonics in braces, that the machine knows and does not execute. A whole
  /// mnemonic comes before the decoder of its opcode.
  void unsupported(std::string_view pattern, std::string_view why);

  /// Mnemonics that were added twice; the later row would hide the earlier one.
  const std::vector<std::string>& repeated() const { return repeated_; }

 private:
  DecodeTable();
  std::map<std::string, Row> rows_;
  std::vector<std::string> repeated_;
};

/// "a{b,c}{,d}" as {"ab", "abd", "ac", "acd"}. Braces do not nest.
std::vector<std::string> expand_braces(std::string_view pattern);

/// A row of plain lanes, one destination, still without handlers.
DecodeTable::Row plain_row(const std::string& mnemonic, std::span<const Kind> operands,
                           std::string_view immediate_type);

void add_integer_rows(DecodeTable& table);
void add_bit_rows(DecodeTable& table);
void add_video_rows(DecodeTable& table);
void add_float_rows(DecodeTable& table);
void add_approximate_rows(DecodeTable& table);
void add_half_rows(DecodeTable& table);
void add_conversion_rows(DecodeTable& table);
void add_comparison_rows(DecodeTable& table);
void add_data_movement_rows(DecodeTable& table);
void add_memory_rows(DecodeTable& table);
void add_atomic_rows(DecodeTable& table);
void add_async_copy_rows(DecodeTable& table);
void add_control_rows(DecodeTable& table);
void add_stack_rows(DecodeTable& table);
void add_synchronisation_rows(DecodeTable& table);
void add_mbarrier_rows(DecodeTable& table);
void add_warp_rows(DecodeTable& table);
void add_matrix_rows(DecodeTable& table);
void add_unsupported_rows(DecodeTable& table);

}  // namespace bitgate::machine
