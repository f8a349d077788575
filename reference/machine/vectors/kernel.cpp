#include "reference/machine/vectors/kernel.h"

#include <string_view>

namespace bitgate::machine::vectors {

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

/// Registers of each width: sources and results, and the words they travel in.
std::string declarations(const Form& form) {
  std::string text =
      "  .reg .b64 %in, %out, %offset, %w;\n"
      "  .reg .b32 %i, %t0, %t1, %half;\n"
      "  .reg .pred %p0, %p1;\n";
  const auto declare = [&](const char* prefix, const std::vector<Value>& values) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      const unsigned bits = shape(values[k]).register_bits;
      text += "  .reg ." + (bits == 1 ? std::string("pred") : "b" + number(bits)) + " %" + prefix +
              number(k) + ";\n";
    }
  };
  declare("a", form.sources);
  declare("d", form.results);
  return text;
}

std::string load(Value value, const std::string& name, const std::string& address) {
  switch (shape(value).register_bits) {
    case 1:
      return "  ld.global.b32 %half, " + address + ";\n  setp.ne.b32 " + name + ", %half, 0;\n";
    case 16:
      return "  ld.global.b16 " + name + ", " + address + ";\n";
    case 32:
      return "  ld.global.b32 " + name + ", " + address + ";\n";
    default:
      return "  ld.global.b64 " + name + ", " + address + ";\n";
  }
}

std::string store(Value value, const std::string& name, const std::string& address) {
  switch (shape(value).register_bits) {
    case 1:
      return "  selp.b32 %half, 1, 0, " + name + ";\n  cvt.u64.u32 %w, %half;\n  st.global.b64 " +
             address + ", %w;\n";
    case 16:
      return "  cvt.u64.u16 %w, " + name + ";\n  st.global.b64 " + address + ", %w;\n";
    case 32:
      return "  cvt.u64.u32 %w, " + name + ";\n  st.global.b64 " + address + ", %w;\n";
    default:
      return "  st.global.b64 " + address + ", " + name + ";\n";
  }
}

std::string entry(const Form& form, std::size_t index, std::uint32_t threads) {
  const std::string name = "f" + number(index);
  std::string text = ".visible .entry " + name + "(.param .u64 " + name + "_in, .param .u64 " +
                     name + "_out)\n{\n" + declarations(form);
  text += "  ld.param.u64 %in, [" + name + "_in];\n  ld.param.u64 %out, [" + name + "_out];\n";
  text +=
      "  mov.u32 %t0, %ctaid.x;\n  mov.u32 %t1, %tid.x;\n"
      "  mad.lo.u32 %i, %t0, " +
      number(kBlock) +
      ", %t1;\n"
      "  mul.wide.u32 %offset, %i, 8;\n"
      "  add.u64 %in, %in, %offset;\n  add.u64 %out, %out, %offset;\n";
  const auto address = [&](const char* base, std::size_t k) {
    return "[%" + std::string(base) + "+" + number(std::uint64_t{8} * threads * k) + "]";
  };
  for (std::size_t k = 0; k < form.sources.size(); ++k) {
    text += load(form.sources[k], "%a" + number(k), address("in", k));
  }
  text += "  " + form.body + "\n";
  for (std::size_t k = 0; k < form.results.size(); ++k) {
    text += store(form.results[k], "%d" + number(k), address("out", k));
  }
  return text + "  ret;\n}\n";
}

}  // namespace

std::string module_header() { return ".version 8.8\n.target sm_90\n.address_size 64\n"; }

std::string module_text(std::span<const Form* const> forms,
                        std::span<const std::uint32_t> threads) {
  std::string text = module_header();
  for (std::size_t i = 0; i < forms.size(); ++i) text += entry(*forms[i], i, threads[i]);
  return text;
}

}  // namespace bitgate::machine::vectors
