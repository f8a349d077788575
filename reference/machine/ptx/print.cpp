#include "reference/machine/ptx/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "reference/machine/ptx/types.h"

namespace bitgate::machine::ptx {

namespace {

std::string as_text(const std::string& item) { return item; }
std::string as_text(std::uint32_t item) { return std::to_string(item); }

// By hand: g++ 12 warns about the insides of fmt::join at -O3.
template <typename Item>
std::string joined(const std::vector<Item>& items, std::string_view separator = ", ") {
  std::string out;
  for (const Item& item : items) {
    if (&item != items.data()) out += separator;
    out += as_text(item);
  }
  return out;
}

std::string same(std::string_view name) { return std::string(name); }

void append_offset(std::string& out, std::int64_t offset) {
  if (offset != 0) out += fmt::format("+{}", offset);
}

void append(std::string& out, const Operand& operand, const Rename& rename);

void append_list(std::string& out, const std::vector<Operand>& elements, const Rename& rename) {
  bool first = true;
  for (const Operand& element : elements) {
    if (!first) out += ", ";
    first = false;
    append(out, element, rename);
  }
}

void append(std::string& out, const Operand& operand, const Rename& rename) {
  if (operand.negated) out += '!';
  if (operand.minus) out += '-';
  switch (operand.kind) {
    case Operand::Kind::reg:
      out += rename(operand.name);
      if (!operand.component.empty()) out += '.' + operand.component;
      break;
    case Operand::Kind::special:
    case Operand::Kind::sink:
      out += operand.name;
      break;
    case Operand::Kind::immediate:
      switch (operand.immediate.kind) {
        case Immediate::Kind::integer:
          out += fmt::format("{}", static_cast<std::int64_t>(operand.immediate.bits));
          break;
        case Immediate::Kind::f32:
          out += fmt::format("0f{:08X}", operand.immediate.bits);
          break;
        case Immediate::Kind::f64:
          out += fmt::format("0d{:016X}", operand.immediate.bits);
          break;
      }
      break;
    case Operand::Kind::symbol:
      out += rename(operand.name);
      append_offset(out, operand.offset);
      break;
    case Operand::Kind::address:
      out += '[';
      if (operand.name.empty()) {
        out += fmt::format("{}", operand.offset);
      } else {
        out += rename(operand.name);
        append_offset(out, operand.offset);
      }
      for (const Operand& element : operand.elements) {
        out += ", ";
        append(out, element, rename);
      }
      out += ']';
      break;
    case Operand::Kind::vector:
      out += '{';
      append_list(out, operand.elements, rename);
      out += '}';
      break;
    case Operand::Kind::pair:
      append(out, operand.elements[0], rename);
      out += '|';
      append(out, operand.elements[1], rename);
      break;
    case Operand::Kind::call_list:
      out += '(';
      append_list(out, operand.elements, rename);
      out += ')';
      break;
  }
}

std::string relocation_text(const Variable::Relocation& relocation, const Rename& rename) {
  std::string text = rename(relocation.symbol);
  if (relocation.generic) text = fmt::format("generic({})", text);
  append_offset(text, relocation.offset);
  if (relocation.mask != 0) text = fmt::format("0x{:X}({})", relocation.mask, text);
  return text;
}

std::string element_text(const Variable& variable, std::uint64_t at, std::uint32_t bytes) {
  std::uint64_t bits = 0;
  for (std::uint32_t i = 0; i < bytes && i < 8; ++i) {
    bits |= std::to_integer<std::uint64_t>(variable.initial[at + i]) << (8 * i);
  }
  if (variable.type == "f32") return fmt::format("0f{:08X}", bits);
  if (variable.type == "f64") return fmt::format("0d{:016X}", bits);
  return fmt::format("{}", bits);
}

std::string initial_text(const Variable& variable, const Rename& rename) {
  if (!variable.opaque_initial.empty()) return " = " + variable.opaque_initial;
  if (variable.initial.empty()) return "";
  const std::uint32_t bytes = type_bytes(variable.type);
  std::vector<std::string> elements;
  for (std::uint64_t at = 0; at + bytes <= variable.initial.size(); at += bytes) {
    elements.push_back(element_text(variable, at, bytes));
  }
  for (const Variable::Relocation& relocation : variable.relocations) {
    elements[relocation.at / bytes] = relocation_text(relocation, rename);
  }
  const bool is_array = !variable.dimensions.empty() || variable.vector_width > 1;
  return is_array ? fmt::format(" = {{{}}}", joined(elements)) : " = " + elements.at(0);
}

std::string parameters_text(const std::vector<Variable>& parameters, const Rename& rename) {
  std::vector<std::string> list;
  list.reserve(parameters.size());
  for (const Variable& parameter : parameters) list.push_back(to_text(parameter, rename));
  return fmt::format("({})", joined(list));
}

}  // namespace

std::string to_text(const Instruction& instruction) { return to_text(instruction, same); }

std::string to_text(const Instruction& instruction, const Rename& rename) {
  std::string out;
  if (instruction.guard) {
    out += instruction.guard_negated ? "@!" : "@";
    out += rename(*instruction.guard);
    out += ' ';
  }
  out += instruction.opcode;
  for (const std::string& modifier : instruction.modifiers) out += '.' + modifier;
  if (!instruction.operands.empty()) out += ' ';
  append_list(out, instruction.operands, rename);
  return out;
}

std::string to_text(const Variable& variable, const Rename& rename) {
  std::string out;
  if (variable.is_extern) out += ".extern ";
  if (variable.is_visible) out += ".visible ";
  if (variable.is_weak) out += ".weak ";
  if (variable.is_common) out += ".common ";
  out += fmt::format(".{}", space_name(variable.space));
  if (!variable.attributes.empty()) {
    out += fmt::format(" .attribute(.{})", joined(variable.attributes, ", ."));
  }
  // One dimension takes a flat list of values, whatever the shape.
  const bool flat =
      !variable.initial.empty() && (variable.vector_width > 1 || variable.dimensions.size() > 1);
  const std::uint32_t natural = type_bytes(variable.type) * variable.vector_width;
  const std::uint32_t alignment = flat && variable.alignment == 0 ? natural : variable.alignment;
  if (alignment != 0) out += fmt::format(" .align {}", alignment);
  if (variable.vector_width > 1 && !flat) out += fmt::format(" .v{}", variable.vector_width);
  out += fmt::format(" .{}", variable.type);
  if (variable.is_ptr) {
    out += " .ptr";
    if (variable.ptr_space != StateSpace::none)
      out += fmt::format(" .{}", space_name(variable.ptr_space));
    if (variable.ptr_alignment != 0) out += fmt::format(" .align {}", variable.ptr_alignment);
  }
  out += ' ' + rename(variable.name);
  if (flat) {
    out += fmt::format("[{}]", variable_bytes(variable) / type_bytes(variable.type));
  } else {
    for (const std::uint64_t dimension : variable.dimensions) {
      out += dimension == 0 ? std::string("[]") : fmt::format("[{}]", dimension);
    }
  }
  return out + initial_text(variable, rename);
}

std::string to_text(const RegisterDeclaration& registers) {
  std::string out = ".reg";
  if (registers.vector_width > 1) out += fmt::format(" .v{}", registers.vector_width);
  out += fmt::format(" .{} {}", registers.type, registers.name);
  if (registers.count) out += fmt::format("<{}>", *registers.count);
  return out;
}

std::string to_text(const Targets& targets, const Rename& rename) {
  std::string out = fmt::format("{}: .{} ", rename(targets.name), targets.directive);
  if (targets.directive == "callprototype") {
    // Names of a prototype's parameters are nobody's.
    const Rename keep = same;
    if (!targets.returns.empty()) out += parameters_text(targets.returns, keep) + ' ';
    out += "_ " + parameters_text(targets.parameters, keep);
    for (const Directive& directive : targets.directives) out += ' ' + to_text(directive);
    return out;
  }
  std::vector<std::string> names;
  names.reserve(targets.targets.size());
  for (const std::string& target : targets.targets) names.push_back(rename(target));
  return out + joined(names);
}

std::string to_text(const Directive& directive) {
  return directive.text.empty() ? '.' + directive.name
                                : fmt::format(".{} {}", directive.name, directive.text);
}

std::string signature_text(const Function& function, const Rename& rename) {
  std::string out = function.is_entry ? ".entry" : ".func";
  if (!function.attributes.empty()) {
    out += fmt::format(" .attribute(.{})", joined(function.attributes, ", ."));
  }
  if (!function.returns.empty()) out += ' ' + parameters_text(function.returns, rename);
  out += ' ' + rename(function.name);
  return out + parameters_text(function.parameters, rename);
}

std::string directives_text(const Function& function) {
  std::string out;
  if (function.maxntid) out += fmt::format(".maxntid {}\n", joined(*function.maxntid));
  if (function.reqntid) out += fmt::format(".reqntid {}\n", joined(*function.reqntid));
  if (function.minnctapersm) out += fmt::format(".minnctapersm {}\n", *function.minnctapersm);
  if (function.maxnreg) out += fmt::format(".maxnreg {}\n", *function.maxnreg);
  if (function.noreturn) out += ".noreturn\n";
  for (const Directive& directive : function.directives) {
    out += to_text(directive);
    out += directive.name == "pragma" ? ";\n" : "\n";
  }
  return out;
}

}  // namespace bitgate::machine::ptx
