#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

// PTX ISA 9.7.6, 9.7.7: comparison and selection.

namespace bitgate::machine::vectors {

namespace {

using V = Value;

std::vector<std::string> comparisons(V type) {
  switch (type) {
    case V::b16:
    case V::b32:
    case V::b64:
      return {"eq", "ne"};
    case V::s16:
    case V::s32:
    case V::s64:
      return {"eq", "ne", "lt", "le", "gt", "ge"};
    case V::u16:
    case V::u32:
    case V::u64:
      return {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
    default:
      return {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
              "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  }
}

bool flushes(V type) { return type == V::f32 || type == V::f16 || type == V::f16x2; }

void add_setp(std::vector<Form>& forms, V type) {
  const bool packed = shape(type).elements == 2;
  const std::string name(shape(type).name);
  const std::vector<V> results(packed ? 2 : 1, V::predicate);
  const std::string destination = packed ? "%d0|%d1" : "%d0";
  const auto add = [&](const std::string& mnemonic, const std::string& to,
                       std::vector<V> predicates, bool third) {
    Form form{.name = mnemonic,
              .body = mnemonic + " " + to + ", %a0, %a1" + (third ? ", %a2;" : ";"),
              .results = std::move(predicates),
              .sources = {type, type}};
    if (third) form.sources.push_back(V::predicate);
    forms.push_back(std::move(form));
  };
  const auto names = comparisons(type);
  for (const std::string& compare : names) {
    add("setp." + compare + "." + name, destination, results, false);
    if (flushes(type)) add("setp." + compare + ".ftz." + name, destination, results, false);
  }
  // One half has one predicate; two halves and the other types have two.
  const bool single = type == V::f16 || type == V::bf16;
  const std::vector<V> combined(single ? 1 : 2, V::predicate);
  for (const char* combine : {"and", "or", "xor"}) {
    for (const std::string& compare : {names.front(), names.back()}) {
      add("setp." + compare + "." + combine + "." + name, single ? "%d0" : "%d0|%d1", combined,
          true);
    }
  }
}

void add_set(std::vector<Form>& forms) {
  const auto add = [&](const std::string& mnemonic, V result, V source, bool third) {
    Form form = plain(mnemonic, result, {source, source});
    if (third) {
      form.body = mnemonic + " %d0, %a0, %a1, %a2;";
      form.sources.push_back(V::predicate);
    }
    forms.push_back(std::move(form));
  };
  for (const V source :
       {V::b16, V::u16, V::s16, V::b32, V::u32, V::s32, V::b64, V::u64, V::s64, V::f32, V::f64}) {
    const auto names = comparisons(source);
    const std::string from = "." + std::string(shape(source).name);
    for (const V result : {V::u32, V::s32, V::f32}) {
      const std::string types = "." + std::string(shape(result).name) + from;
      for (const std::string& compare : names) add("set." + compare + types, result, source, false);
      add("set." + names.back() + ".xor" + types, result, source, true);
      if (source == V::f32) add("set." + names.back() + ".ftz" + types, result, source, false);
    }
  }
  for (const V source : {V::f16, V::bf16}) {
    const std::string from = "." + std::string(shape(source).name);
    for (const V result : {V::u16, V::s16, V::u32, V::s32, source}) {
      for (const char* compare : {"lt", "neu", "nan"}) {
        add(std::string("set.") + compare + "." + std::string(shape(result).name) + from, result,
            source, false);
      }
    }
  }
  for (const V source : {V::f16x2, V::bf16x2}) {
    const std::string from = "." + std::string(shape(source).name);
    for (const V result : {V::u32, V::s32, source}) {
      for (const char* compare : {"lt", "neu", "nan"}) {
        add(std::string("set.") + compare + "." + std::string(shape(result).name) + from, result,
            source, false);
      }
    }
  }
  for (const V source : {V::u16, V::s16, V::u32, V::s32, V::u64, V::s64}) {
    const std::string from(shape(source).name);
    add("set.lt.f16." + from, V::f16, source, false);
    add("set.ge.bf16." + from, V::bf16, source, false);
  }
}

void add_select(std::vector<Form>& forms) {
  for (const V type :
       {V::b16, V::u16, V::s16, V::b32, V::u32, V::s32, V::b64, V::u64, V::s64, V::f32, V::f64}) {
    const std::string name(shape(type).name);
    forms.push_back(plain("selp." + name, type, {type, type, V::predicate}));
    forms.push_back(plain("slct." + name + ".s32", type, {type, type, V::s32}));
    forms.push_back(plain("slct." + name + ".f32", type, {type, type, V::f32}));
    forms.push_back(plain("slct.ftz." + name + ".f32", type, {type, type, V::f32}));
  }
}

}  // namespace

void add_comparison_forms(std::vector<Form>& forms) {
  for (const V type : {V::b16, V::u16, V::s16, V::b32, V::u32, V::s32, V::b64, V::u64, V::s64,
                       V::f32, V::f64, V::f16, V::f16x2, V::bf16, V::bf16x2}) {
    add_setp(forms, type);
  }
  add_set(forms);
  add_select(forms);
}

}  // namespace bitgate::machine::vectors
