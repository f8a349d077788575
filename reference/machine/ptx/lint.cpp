#include "reference/machine/ptx/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <variant>

#include "reference/machine/ptx/names.h"
#include "reference/machine/ptx/print.h"
#include "reference/machine/ptx/reach.h"

namespace bitgate::machine::ptx {

namespace {

using Kind = LintFinding::Kind;

bool has(const Instruction& instruction, std::string_view modifier) {
  return std::ranges::find(instruction.modifiers, modifier) != instruction.modifiers.end();
}

bool is_float_type(std::string_view type) {
  constexpr std::string_view kFloats[] = {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"};
  return std::ranges::find(kFloats, type) != std::end(kFloats);
}

/// What must agree for ptxas to fuse: the type and .ftz. Nothing for an instruction that is no
/// float operation or says how it rounds.
struct Arithmetic {
  std::string_view type;
  bool ftz = false;
  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};
std::optional<Arithmetic> unmarked(const Instruction& instruction) {
  if (instruction.modifiers.empty() || !is_float_type(instruction.modifiers.back())) return {};
  for (const std::string_view rounding : {"rn", "rz", "rm", "rp"}) {
    if (has(instruction, rounding)) return {};
  }
  return Arithmetic{instruction.modifiers.back(), has(instruction, "ftz")};
}

/// A register, or the part of one that `mov.b32 %r1, {%rs1, %rs2}` put there.
struct Place {
  Names::Meaning reg;
  int lane = kWhole;
  static constexpr int kWhole = -1;
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// Where the products of one function's unmarked multiplications go.
class Products {
 public:
  explicit Products(const Function& function) : names_(function) {
    for (const Statement& statement : function.body) {
      const auto* instruction = std::get_if<Instruction>(&statement.item);
      if (instruction == nullptr || instruction->operands.size() < 2) continue;
      const std::vector<Operand>& operands = instruction->operands;
      if (instruction->opcode == "mul") {
        const auto arithmetic = unmarked(*instruction);
        const auto place = place_of(statement.scope, operands[0]);
        if (arithmetic && place) add(*place, {*arithmetic, instruction->ptx_line});
      } else if (instruction->opcode == "mov" || instruction->opcode == "neg") {
        add_moves(statement.scope, operands[0], operands[1]);
      }
    }
    follow_moves();
  }

  struct Product {
    Arithmetic arithmetic;
    std::uint32_t ptx_line = 0;
  };
  /// The first product of that arithmetic that the operand may hold.
  std::optional<Product> find(std::uint32_t scope, const Operand& operand,
                              const Arithmetic& arithmetic) const {
    const auto place = place_of(scope, operand);
    if (!place) return {};
    const auto found = products_.find(*place);
    if (found == products_.end()) return {};
    for (const Product& product : found->second) {
      if (product.arithmetic == arithmetic) return product;
    }
    return {};
  }

 private:
  // Enough to name one product of each type and .ftz; a register that collects hundreds (a loop
  // unrolled by hand) would otherwise cost their product with the moves.
  bool add(const Place& place, const Product& product) {
    std::vector<Product>& list = products_[place];
    const bool known = std::ranges::any_of(
        list, [&](const Product& other) { return other.arithmetic == product.arithmetic; });
    if (!known) list.push_back(product);
    return !known;
  }

  std::optional<Place> place_of(std::uint32_t scope, const Operand& operand) const {
    if (operand.kind != Operand::Kind::reg) return {};
    const Names::Meaning meaning = names_.find(scope, operand.name);
    if (meaning.kind != Names::Meaning::Kind::reg) return {};
    return Place{meaning, Place::kWhole};
  }

  void add_moves(std::uint32_t scope, const Operand& to, const Operand& from) {
    const auto add_move = [&](std::optional<Place> target, std::optional<Place> source) {
      if (target && source) moves_[*source].push_back(*target);
    };
    const auto lane = [&](const Operand& whole, std::size_t i) {
      auto place = place_of(scope, whole);
      if (place) place->lane = static_cast<int>(i);
      return place;
    };
    const bool packs = from.kind == Operand::Kind::vector;
    const bool unpacks = to.kind == Operand::Kind::vector;
    if (packs && unpacks) return;
    if (packs) {
      for (std::size_t i = 0; i < from.elements.size(); ++i) {
        add_move(lane(to, i), place_of(scope, from.elements[i]));
      }
    } else if (unpacks) {
      for (std::size_t i = 0; i < to.elements.size(); ++i) {
        add_move(place_of(scope, to.elements[i]), lane(from, i));
      }
    } else {
      constexpr std::size_t kMostLanes = 4;
      add_move(place_of(scope, to), place_of(scope, from));
      for (std::size_t i = 0; i < kMostLanes; ++i) add_move(lane(to, i), lane(from, i));
    }
  }

  void follow_moves() {
    std::vector<Place> changed;
    changed.reserve(products_.size());
    for (const auto& [place, list] : products_) changed.push_back(place);
    while (!changed.empty()) {
      const Place place = changed.back();
      changed.pop_back();
      const auto moved = moves_.find(place);
      if (moved == moves_.end()) continue;
      const std::vector<Product> list = products_[place];
      for (const Place& target : moved->second) {
        bool grew = false;
        for (const Product& product : list) grew |= add(target, product);
        if (grew) changed.push_back(target);
      }
    }
  }

  Names names_;
  std::map<Place, std::vector<Product>> products_;
  std::map<Place, std::vector<Place>> moves_;
};

bool is_approximate(const Instruction& instruction) {
  constexpr std::string_view kAlways[] = {"ex2", "lg2", "sin", "cos", "tanh"};
  return std::ranges::find(kAlways, instruction.opcode) != std::end(kAlways) ||
         has(instruction, "approx") || (instruction.opcode == "div" && has(instruction, "full"));
}

bool is_float_atomic(const Instruction& instruction) {
  constexpr std::string_view kReducing[] = {"atom", "red", "multimem", "cp"};
  if (std::ranges::find(kReducing, instruction.opcode) == std::end(kReducing)) return false;
  // cp.reduce.async.bulk reduces; plain cp.async has no .add.
  return has(instruction, "add") && std::ranges::any_of(instruction.modifiers, is_float_type);
}

bool names_clock(const Operand& operand) {
  constexpr std::string_view kClocks[] = {"%clock",       "%clock_hi",       "%clock64",
                                          "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"};
  if (operand.kind == Operand::Kind::special) {
    return std::ranges::find(kClocks, operand.name) != std::end(kClocks);
  }
  return std::ranges::any_of(operand.elements, names_clock);
}

class FunctionLint {
 public:
  FunctionLint(const Module& module, const Function& function, std::vector<LintFinding>& findings)
      : module_(module), function_(function), products_(function), findings_(findings) {}

  void run() {
    for (const Statement& statement : function_.body) {
      if (const auto* instruction = std::get_if<Instruction>(&statement.item)) {
        check(*instruction, statement.scope);
      }
    }
  }

 private:
  void check(const Instruction& instruction, std::uint32_t scope) {
    check_contraction(instruction, scope);
    if (is_approximate(instruction)) {
      report(Kind::approximate, instruction,
             "an approximation: PTX bounds its error and fixes no bits; write the .rn form or a "
             "polynomial of fma.rn");
    }
    if (instruction.opcode == "activemask") {
      report(
          Kind::activemask, instruction,
          "which threads are active here depends on scheduling; pass the mask that the code knows");
    }
    if (is_float_atomic(instruction)) {
      report(Kind::float_atomic, instruction,
             "float additions in the order of arrival; reduce in a fixed order");
    }
    if (std::ranges::any_of(instruction.operands, names_clock)) {
      report(Kind::clock, instruction, "a clock gives other values in every run");
    }
  }

  void check_contraction(const Instruction& instruction, std::uint32_t scope) {
    if (instruction.opcode != "add" && instruction.opcode != "sub") return;
    const auto arithmetic = unmarked(instruction);
    if (!arithmetic) return;
    for (std::size_t i = 1; i < instruction.operands.size(); ++i) {
      const auto product = products_.find(scope, instruction.operands[i], *arithmetic);
      if (!product) continue;
      report(
          Kind::contractible, instruction,
          fmt::format("ptxas may fuse the unmarked product of PTX line {} into this; write fma.rn, "
                      "or .rn on one of the two",
                      product->ptx_line));
      return;
    }
  }

  void report(Kind kind, const Instruction& instruction, std::string why) {
    LintFinding finding;
    finding.kind = kind;
    finding.entry = function_.name;
    finding.instruction = to_text(instruction);
    finding.ptx_line = instruction.ptx_line;
    for (const File& file : module_.files) {
      if (file.number == instruction.source.file && instruction.source.line != 0) {
        finding.file = file.name;
        finding.line = instruction.source.line;
      }
    }
    finding.why = std::move(why);
    findings_.push_back(std::move(finding));
  }

  const Module& module_;
  const Function& function_;
  Products products_;
  std::vector<LintFinding>& findings_;
};

}  // namespace

std::string_view name(LintFinding::Kind kind) {
  switch (kind) {
    case Kind::contractible:
      return "contractible";
    case Kind::approximate:
      return "approximate";
    case Kind::activemask:
      return "activemask";
    case Kind::float_atomic:
      return "float_atomic";
    case Kind::clock:
      return "clock";
  }
  return "";
}

std::vector<LintFinding> lint(const Module& module) {
  std::vector<LintFinding> findings;
  for (const Function& function : module.functions) FunctionLint(module, function, findings).run();
  return findings;
}

LintCounts lint_counts(const Module& module, std::string_view entry) {
  std::vector<LintFinding> findings;
  for (const std::uint32_t index : reach(module, entry).functions) {
    FunctionLint(module, module.functions[index], findings).run();
  }
  LintCounts counts;
  for (const LintFinding& finding : findings) {
    switch (finding.kind) {
      case Kind::contractible:
        ++counts.contractible;
        break;
      case Kind::approximate:
        ++counts.approximate;
        break;
      case Kind::activemask:
        ++counts.activemask;
        break;
      case Kind::float_atomic:
        ++counts.float_atomic;
        break;
      case Kind::clock:
        ++counts.clock;
        break;
    }
  }
  return counts;
}

}  // namespace bitgate::machine::ptx
