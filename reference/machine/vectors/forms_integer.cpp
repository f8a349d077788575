#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

// PTX ISA 9.7.1 (integer arithmetic), 9.7.2 (extended precision).

namespace bitgate::machine::vectors {

namespace {

using V = Value;

struct Type {
  const char* name;
  V value;
  V wide;  ///< of twice the width; the same where there is none
  bool is_signed;
};

const std::vector<Type>& integer_types() {
  static const std::vector<Type> kTypes{
      {"u16", V::u16, V::u32, false}, {"s16", V::s16, V::s32, true},
      {"u32", V::u32, V::u64, false}, {"s32", V::s32, V::s64, true},
      {"u64", V::u64, V::u64, false}, {"s64", V::s64, V::s64, true},
  };
  return kTypes;
}

void add_arithmetic(std::vector<Form>& forms, const Type& t) {
  const std::string type = std::string(".") + t.name;
  for (const char* op : {"add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"}) {
    forms.push_back(plain(op + type, t.value, {t.value, t.value}));
  }
  for (const char* op : {"mad.lo", "mad.hi", "sad"}) {
    forms.push_back(plain(op + type, t.value, {t.value, t.value, t.value}));
  }
  if (t.is_signed) {
    forms.push_back(plain("abs" + type, t.value, {t.value}));
    forms.push_back(plain("neg" + type, t.value, {t.value}));
  }
  if (t.wide != t.value) {
    forms.push_back(plain("mul.wide" + type, t.wide, {t.value, t.value}));
    forms.push_back(plain("mad.wide" + type, t.wide, {t.value, t.value, t.wide}));
  }
}

/// Each writes or reads the carry flag; the flag itself comes out as a second result.
void add_carries(std::vector<Form>& forms, const Type& t) {
  const std::string type = std::string(".") + t.name;
  const std::string flag = " addc" + type + " %d1, 0, 0;";
  const std::string borrow = " subc" + type + " %d1, 0, 0;";
  const auto add = [&](const std::string& name, const std::string& body, std::size_t sources) {
    forms.push_back({.name = name + type,
                     .body = body,
                     .results = {t.value, t.value},
                     .sources = std::vector<V>(sources, t.value)});
  };
  const auto op = [&](const char* mnemonic, const char* operands) {
    return std::string(mnemonic) + type + operands;
  };
  add("add.cc", op("add.cc", " %d0, %a0, %a1;") + flag, 2);
  add("addc", op("add.cc", " %d1, %a0, %a1;") + op(" addc", " %d0, %a2, %a3;"), 4);
  add("addc.cc", op("add.cc", " %d1, %a0, %a1;") + op(" addc.cc", " %d0, %a2, %a3;") + flag, 4);
  add("sub.cc", op("sub.cc", " %d0, %a0, %a1;") + borrow, 2);
  add("subc", op("sub.cc", " %d1, %a0, %a1;") + op(" subc", " %d0, %a2, %a3;"), 4);
  add("subc.cc", op("sub.cc", " %d1, %a0, %a1;") + op(" subc.cc", " %d0, %a2, %a3;") + borrow, 4);
  for (const char* half : {"lo", "hi"}) {
    const std::string mad = std::string("mad.") + half + ".cc";
    const std::string madc = std::string("madc.") + half;
    add(mad, op(mad.c_str(), " %d0, %a0, %a1, %a2;") + flag, 3);
    add(madc, op("add.cc", " %d1, %a0, %a1;") + op((" " + madc).c_str(), " %d0, %a0, %a2, %a3;"),
        4);
    add(madc + ".cc",
        op("add.cc", " %d1, %a0, %a1;") + op((" " + madc + ".cc").c_str(), " %d0, %a0, %a2, %a3;") +
            flag,
        4);
  }
}

}  // namespace

void add_integer_forms(std::vector<Form>& forms) {
  for (const Type& type : integer_types()) add_arithmetic(forms, type);
  forms.push_back(plain("add.sat.s32", V::s32, {V::s32, V::s32}));
  forms.push_back(plain("sub.sat.s32", V::s32, {V::s32, V::s32}));
  forms.push_back(plain("mad.hi.sat.s32", V::s32, {V::s32, V::s32, V::s32}));
  for (const Type& t : {integer_types()[2], integer_types()[3]}) {
    const std::string type = std::string(".") + t.name;
    for (const char* half : {"lo", "hi"}) {
      forms.push_back(plain(std::string("mul24.") + half + type, t.value, {t.value, t.value}));
      forms.push_back(
          plain(std::string("mad24.") + half + type, t.value, {t.value, t.value, t.value}));
    }
  }
  forms.push_back(plain("mad24.hi.sat.s32", V::s32, {V::s32, V::s32, V::s32}));
  for (const char* type : {"u16x2", "s16x2"}) {
    for (const char* op : {"add", "min", "max"}) {
      forms.push_back(plain(std::string(op) + "." + type, V::b32, {V::b32, V::b32}));
    }
  }
  for (const char* op : {"min.relu", "max.relu"}) {
    forms.push_back(plain(std::string(op) + ".s32", V::s32, {V::s32, V::s32}));
    forms.push_back(plain(std::string(op) + ".s16x2", V::b32, {V::b32, V::b32}));
  }
  for (const Type& type : integer_types()) {
    if (shape(type.value).bits >= 32) add_carries(forms, type);
  }
  for (const char* a : {"u32", "s32"}) {
    for (const char* b : {"u32", "s32"}) {
      const std::string types = std::string(a) + "." + b;
      const V d = types == "u32.u32" ? V::u32 : V::s32;
      forms.push_back(plain("dp4a." + types, d, {V::bytes, V::bytes, d}));
      forms.push_back(plain("dp2a.lo." + types, d, {V::b32, V::bytes, d}));
      forms.push_back(plain("dp2a.hi." + types, d, {V::b32, V::bytes, d}));
    }
  }
}

}  // namespace bitgate::machine::vectors
