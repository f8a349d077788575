#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace bitgate::machine::ptx {

/// PTX as text says it (PTX ISA 9.0, "Syntax" and "Directives"): nothing is resolved here beyond
/// names. What an instruction means is the decoder's business (program/), so opcodes and modifiers
/// stay words.

enum class StateSpace { none, reg, sreg, constant, global, local, param, shared };

/// `.b32`, `.u8`, `.f16x2`, `.pred`, … without the dot.
using TypeName = std::string;

/// A place in the source, by `.loc`. Line 0: unknown.
struct SourceLine {
  std::uint32_t file = 0;  ///< number of the `.file` directive
  std::uint32_t line = 0;
};

struct Operand;

struct Immediate {
  std::uint64_t bits = 0;  ///< integers sign-extended to 64 bits; floats by their IEEE bits
  enum class Kind { integer, f32, f64 } kind = Kind::integer;
};

struct Operand {
  enum class Kind {
    reg,        ///< %r1
    special,    ///< %tid.x, %laneid, …
    immediate,  ///< 3, 0f3F800000, 0d…
    symbol,     ///< a variable, function or label by name (+ offset)
    address,    ///< [%rd1+8], [symbol+4], [imm]; elements: what follows in [%rd1, {%r1, %r2}]
    vector,     ///< {a, b, c, d}
    pair,       ///< d|p: two destinations
    call_list,  ///< (a, b) of call
    sink        ///< _
  };
  Kind kind = Kind::reg;
  bool negated = false;   ///< !%p1, a predicate
  bool minus = false;     ///< -%r1, of the video instructions
  std::string name;       ///< register, special register or symbol; base of an address
  std::string component;  ///< of a register: "x" of %v1.x, "b0" or "h1" of the video instructions
  bool base_is_register = false;  ///< address only
  std::int64_t offset = 0;        ///< address and symbol
  Immediate immediate;
  std::vector<Operand> elements;  ///< vector, pair, call_list
};

struct Instruction {
  std::optional<std::string> guard;    ///< predicate register of @p
  bool guard_negated = false;          ///< @!p
  std::string opcode;                  ///< "mma"
  std::vector<std::string> modifiers;  ///< {"sync", "aligned", "m16n8k16", …}, without dots
  std::vector<Operand> operands;
  std::uint32_t ptx_line = 0;  ///< 1-based, in the module's text
  /// The user's line: the outermost `inlined_at` of the last `.loc` that is not the line of the
  /// function itself. (A macro that defines the whole entry puts all of its code on that line.)
  SourceLine source;
  SourceLine innermost;  ///< the place of the `.loc` itself
};

struct Variable {
  StateSpace space = StateSpace::none;
  TypeName type;
  std::uint32_t vector_width = 1;  ///< .v2, .v4
  std::string name;
  std::uint32_t alignment = 0;            ///< 0: the type's natural one
  std::vector<std::uint64_t> dimensions;  ///< [4][8]; a 0 stands for [] without initialiser
  bool is_extern = false;
  bool is_visible = false;
  bool is_weak = false;
  bool is_common = false;
  bool is_ptr = false;                      ///< `.param .u64 .ptr …`
  StateSpace ptr_space = StateSpace::none;  ///< `.ptr .global`: what the parameter points into
  std::uint32_t ptr_alignment = 0;          ///< `.ptr .align 16`; 0: not said
  std::vector<std::string> attributes;      ///< of `.attribute(…)`, as written
  std::vector<std::byte> initial;           ///< bytes of the initialiser; empty: none
  /// Initialisers that are addresses: `bytes` bytes at `at` hold the address of `symbol` + offset;
  /// with a `mask` (one run of ones: 0xff00(symbol)), the masked bits, shifted down.
  struct Relocation {
    std::uint64_t at = 0;
    std::string symbol;
    std::int64_t offset = 0;
    bool generic = false;
    std::uint32_t bytes = 8;
    std::uint64_t mask = 0;  ///< 0: none
  };
  std::vector<Relocation> relocations;
  std::string opaque_initial;  ///< `{ … }` of a .texref, .samplerref or .surfref, as written
  std::uint32_t ptx_line = 0;
};

/// `.reg .b32 %r<12>;` declares %r0 … %r11; `.reg .pred p, q;` declares names.
struct RegisterDeclaration {
  TypeName type;
  std::uint32_t vector_width = 1;
  std::string name;
  std::optional<std::uint32_t> count;  ///< of %r<count>
};

struct Label {
  std::string name;
};
/// `.pragma "nounroll";`, and performance directives that have no field of their own in Function.
struct Directive {
  std::string name;  ///< without the dot
  std::string text;  ///< what follows it, as written
};
/// `$L: .branchtargets a, b;` or `.calltargets` or `.callprototype`, named by a label.
struct Targets {
  std::string name;
  std::string directive;  ///< "branchtargets", "calltargets" or "callprototype"
  std::vector<std::string> targets;
  std::vector<Variable> returns;      ///< of a prototype
  std::vector<Variable> parameters;   ///< of a prototype
  std::vector<Directive> directives;  ///< of a prototype: "noreturn"
};

struct Statement {
  std::variant<Instruction, Label, RegisterDeclaration, Variable, Targets, Directive> item;
  /// Depth and identity of the enclosing { } scope: 0 is the function's own. Scopes nest; names
  /// declared in one hide outer ones. `parent_scope` of scope s is Function::scope_parent[s].
  std::uint32_t scope = 0;
};

struct Function {
  bool is_entry = false;
  bool is_extern = false;
  bool is_visible = false;
  bool is_weak = false;
  bool has_body = false;
  std::string name;
  std::vector<Variable> returns;
  std::vector<Variable> parameters;
  std::vector<Statement> body;
  std::vector<std::uint32_t> scope_parent{0};
  std::optional<std::vector<std::uint32_t>> maxntid;
  std::optional<std::vector<std::uint32_t>> reqntid;
  std::optional<std::uint32_t> minnctapersm;
  std::optional<std::uint32_t> maxnreg;
  bool noreturn = false;
  std::vector<Directive> directives;  ///< the others: "explicitcluster", "pragma", …
  std::vector<std::string> attributes;
  std::uint32_t ptx_line = 0;
};

/// `.alias name, target;`
struct Alias {
  std::string name;
  std::string target;
};

struct File {
  std::uint32_t number = 0;
  std::string name;
};

struct Module {
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  std::string target;  ///< "sm_80"
  std::vector<std::string> target_options;
  std::uint32_t address_size = 64;
  std::vector<File> files;
  std::vector<Variable> variables;  ///< module scope, in order
  std::vector<Function> functions;  ///< in order, prototypes included
  std::vector<Alias> aliases;
  std::vector<Directive> directives;  ///< "pragma" at module scope
};

}  // namespace bitgate::machine::ptx
