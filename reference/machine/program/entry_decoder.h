#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "reference/machine/program/instruction_builder.h"
#include "reference/machine/program/register_file.h"

namespace bitgate::machine {

/// What all entries of a module share.
struct ModuleLayout {
  const ptx::Module* module = nullptr;
  std::map<std::string, const ptx::Function*> functions;          ///< those with a body
  std::map<std::string, const ptx::Variable*> variables;          ///< module scope
  std::map<const ptx::Variable*, std::uint64_t> constant_offset;  ///< `.const`, in the bank
  std::vector<std::string> text_lines;                            ///< of the PTX
};

/// Decodes one entry. Device functions are expanded at their calls: each expansion is an *instance*
/// with registers, labels and local variables of its own, and `ret` becomes a branch to its end.
class EntryDecoder {
 public:
  EntryDecoder(const ModuleLayout& layout, const ptx::Function& entry);
  Code decode();

 private:
  friend class InstructionBuilder;

  struct Entity {
    enum class What { reg, variable, label } what = What::reg;
    // reg
    VirtualRegister first = 0;
    std::optional<std::uint32_t> count;
    Kind kind = Kind::none;
    std::uint32_t bytes = 0;  ///< of the declared type: 1 and 2 are of Kind::b32 too
    // variable
    Space space = Space::generic;
    std::uint64_t offset = 0;
    std::string global;
    // label
    std::uint32_t label = 0;
  };
  using Names = std::unordered_map<std::string, Entity>;
  struct Instance {
    const ptx::Function* function = nullptr;
    std::vector<Names> scopes;
    std::unordered_map<std::string, const ptx::Targets*> tables;
    std::uint32_t end_label = 0;
    std::vector<const ptx::Function*> callers;
  };

  void lay_out_shared();
  void lay_out_parameters();
  void expand(std::uint32_t instance);
  void declare(std::uint32_t instance);
  void declare_registers(Names& names, const ptx::RegisterDeclaration& declaration);
  void declare_variable(Names& names, const ptx::Variable& variable);
  void emit(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text);
  void emit_call(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text);
  void decode_plain(InstructionBuilder& builder, const std::string& mnemonic);
  void emit_unsupported(const ptx::Instruction& text, const std::string& why);
  std::uint32_t append(const ptx::Instruction& text);
  void set_guard(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text,
                 std::uint32_t op_index, bool inverted);

  const Entity* find(std::uint32_t instance, std::uint32_t scope, const std::string& name) const;
  /// A register by name, with the bytes of its declared type; nothing when there is none.
  std::optional<VirtualRegister> find_register(std::uint32_t instance, std::uint32_t scope,
                                               const std::string& name, Kind& kind,
                                               std::uint32_t* bytes = nullptr) const;
  VirtualRegister constant(Kind kind, std::uint64_t value, const std::string& global = {});
  VirtualRegister special(const std::string& name, Kind kind);
  std::uint32_t new_label();
  std::string text_of(const ptx::Instruction& text) const;
  std::string file_name(std::uint32_t number) const;

  const ModuleLayout& layout_;
  const ptx::Function& entry_;
  Code code_;
  std::vector<Instance> instances_;
  RegisterUse registers_;
  std::map<std::tuple<Kind, std::uint64_t, std::string>, VirtualRegister> constants_;
  std::map<std::pair<Special, Kind>, VirtualRegister> specials_;
  std::map<const ptx::Variable*, std::uint64_t> shared_offset_;
  std::vector<std::uint32_t> label_position_;
  struct LabelUse {
    std::uint32_t op;
    bool in_list;
    std::uint32_t list_index;
    std::uint32_t label;
  };
  std::vector<LabelUse> label_uses_;
  mutable Names module_entities_;
  std::uint64_t local_bytes_ = 0;
  VirtualRegister always_ = 0;
};

}  // namespace bitgate::machine
