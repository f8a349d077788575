#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "reference/machine/program/call_plan.h"
#include "reference/machine/program/instruction_builder.h"
#include "reference/machine/program/module_layout.h"
#include "reference/machine/program/register_file.h"

namespace bitgate::machine {

struct SystemCall;

/// Decodes one entry. Device functions are expanded at their calls: each expansion is an *instance*
/// with registers, labels and local variables of its own, and `ret` becomes a branch to its end.
/// Procedures (program/call_plan.h) are instances too, with a frame on the stack for their
/// variables. What calls need is in call_decoder.cpp.
class EntryDecoder {
 public:
  EntryDecoder(const ModuleLayout& layout, const Program::Impl& program,
               const ptx::Function& entry);
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
    bool in_frame = false;  ///< local: the offset counts from the frame of the procedure
    std::uint64_t extent = 0;
    // label
    std::uint32_t label = 0;
  };
  using Names = std::unordered_map<std::string, Entity>;
  enum class Return : std::uint8_t { from_entry, from_procedure, to_end_label };
  struct Instance {
    const ptx::Function* function = nullptr;
    std::vector<Names> scopes;
    std::unordered_map<std::string, const ptx::Targets*> tables;
    std::uint32_t end_label = 0;
    Return returns = Return::from_entry;
    /// Whose frame holds the variables; none: the thread's own, at fixed places.
    std::optional<std::uint32_t> procedure;
  };

  void lay_out_shared();
  void lay_out_parameters();
  void expand(std::uint32_t instance);
  void declare(std::uint32_t instance);
  void declare_registers(Names& names, const ptx::RegisterDeclaration& declaration);
  void declare_variable(std::uint32_t instance, Names& names, const ptx::Variable& variable);
  void emit(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text);
  void emit_plain(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text);
  void emit_return(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text);

  // Calls.
  void declare_procedures();
  void decode_procedure(std::uint32_t number);
  void emit_call(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text);
  void expand_call(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text,
                   const ptx::Function& callee);
  void call_procedure(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text,
                      std::optional<std::uint32_t> procedure);
  void call_system(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text,
                   const SystemCall& call);
  /// Variables that a call passes: those named, or hidden ones that stand for registers and
  /// immediates, stored here and now (`is_result`: to be loaded after the call, by after_call_).
  std::vector<Entity> passed(std::uint32_t instance, std::uint32_t scope,
                             const ptx::Instruction& text, const ptx::Operand* list,
                             const std::vector<ptx::Variable>& formals, bool is_result);
  /// Names the formals in the callee's scope: `.param` ones by the given variables, those in
  /// registers by registers that are loaded from them.
  void bind_formals(std::uint32_t number, const std::vector<ptx::Variable>& formals,
                    const std::vector<Entity>& actuals, bool is_result);
  void load_register_formals(std::uint32_t number, const ptx::Instruction& text);
  void store_register_results(std::uint32_t number, std::uint32_t scope,
                              const ptx::Instruction& text);
  Entity allocate_local(std::uint32_t instance, std::uint64_t bytes, std::uint64_t alignment,
                        std::uint32_t line);
  /// Puts addresses in a frame that the instruction's operands name into registers.
  void prepare_frame_addresses(std::uint32_t instance, std::uint32_t scope,
                               const ptx::Instruction& text);
  std::optional<VirtualRegister> frame_address(const ptx::Operand& operand, Kind kind) const;
  void decode_plain(InstructionBuilder& builder, const std::string& mnemonic);
  void emit_unsupported(std::uint32_t instance, std::uint32_t scope, const ptx::Instruction& text,
                        const std::string& why);
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
  bool in_clusters() const;
  std::uint32_t new_label();
  std::string text_of(const ptx::Instruction& text) const;
  std::string file_name(std::uint32_t number) const;

  const ModuleLayout& layout_;
  const Program::Impl& program_;
  const ptx::Function& entry_;
  CallPlan plan_;
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
  std::vector<std::uint64_t> frame_bytes_;  ///< by procedure
  std::map<const ptx::Function*, std::uint32_t> procedure_number_;
  VirtualRegister always_ = 0;
  std::optional<VirtualRegister> frame_;
  std::map<std::pair<std::string, Kind>, VirtualRegister> frame_addresses_;  ///< of the instruction
  std::vector<ptx::Instruction> after_call_;
  std::uint32_t hidden_ = 0;  ///< names made so far
};

}  // namespace bitgate::machine
