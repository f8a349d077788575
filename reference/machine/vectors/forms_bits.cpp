#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

// PTX ISA 9.7.1 (bit counting and fields), 9.7.8 (logic and shifts), 9.7.9 (prmt, mov of vectors).

namespace bitgate::machine::vectors {

namespace {

using V = Value;

void add_fields(std::vector<Form>& forms) {
  for (const char* op : {"popc", "clz"}) {
    forms.push_back(plain(std::string(op) + ".b32", V::u32, {V::b32}));
    forms.push_back(plain(std::string(op) + ".b64", V::u32, {V::b64}));
  }
  forms.push_back(plain("brev.b32", V::b32, {V::b32}));
  forms.push_back(plain("brev.b64", V::b64, {V::b64}));
  for (const V type : {V::u32, V::s32, V::u64, V::s64}) {
    const std::string name(shape(type).name);
    forms.push_back(plain("bfind." + name, V::u32, {type}));
    forms.push_back(plain("bfind.shiftamt." + name, V::u32, {type}));
    forms.push_back(plain("bfe." + name, type, {type, V::shift, V::shift}));
  }
  forms.push_back(plain("bfi.b32", V::b32, {V::b32, V::b32, V::shift, V::shift}));
  forms.push_back(plain("bfi.b64", V::b64, {V::b64, V::b64, V::shift, V::shift}));
  forms.push_back(plain("fns.b32", V::b32, {V::b32, V::shift, V::s32}));
  for (const char* mode : {"clamp", "wrap"}) {
    forms.push_back(plain(std::string("szext.") + mode + ".u32", V::u32, {V::u32, V::shift}));
    forms.push_back(plain(std::string("szext.") + mode + ".s32", V::s32, {V::s32, V::shift}));
    forms.push_back(plain(std::string("bmsk.") + mode + ".b32", V::b32, {V::shift, V::shift}));
  }
}

void add_logic(std::vector<Form>& forms) {
  for (const V type : {V::predicate, V::b16, V::b32, V::b64}) {
    const std::string name(shape(type).name);
    for (const char* op : {"and.", "or.", "xor."}) {
      forms.push_back(plain(op + name, type, {type, type}));
    }
    forms.push_back(plain("not." + name, type, {type}));
    if (type != V::predicate) forms.push_back(plain("cnot." + name, type, {type}));
  }
  // Four tables a form: the eight rows of the truth table alone and in mixtures.
  constexpr unsigned kTables[8][4] = {{0x01, 0x02, 0x04, 0x08}, {0x10, 0x20, 0x40, 0x80},
                                      {0x96, 0xe8, 0xca, 0xac}, {0x1e, 0x78, 0x6a, 0xd8},
                                      {0xfe, 0x7f, 0xf0, 0x0f}, {0xcc, 0xaa, 0x33, 0x55},
                                      {0xe2, 0xb8, 0x27, 0x9a}, {0x00, 0xff, 0x5b, 0xc7}};
  for (const auto& tables : kTables) {
    Form form{.name = "lop3.b32", .body = {}, .results = {}, .sources = {V::b32, V::b32, V::b32}};
    for (const unsigned table : tables) {
      const std::string index = std::to_string(form.results.size());
      form.name += " " + std::to_string(table);
      form.body += "lop3.b32 %d" + index + ", %a0, %a1, %a2, " + std::to_string(table) + "; ";
      form.results.push_back(V::b32);
    }
    forms.push_back(form);
  }
  for (const char* combine : {"and", "or"}) {
    const std::string mnemonic = std::string("lop3.") + combine + ".b32";
    forms.push_back({.name = mnemonic,
                     .body = mnemonic + " %d0|%d1, %a0, %a1, %a2, 0x96, %a3;",
                     .results = {V::b32, V::predicate},
                     .sources = {V::b32, V::b32, V::b32, V::predicate}});
  }
}

void add_shifts(std::vector<Form>& forms) {
  for (const V type : {V::b16, V::b32, V::b64}) {
    forms.push_back(plain("shl." + std::string(shape(type).name), type, {type, V::shift}));
  }
  for (const V type : {V::b16, V::u16, V::s16, V::b32, V::u32, V::s32, V::b64, V::u64, V::s64}) {
    forms.push_back(plain("shr." + std::string(shape(type).name), type, {type, V::shift}));
  }
  for (const char* mnemonic :
       {"shf.l.clamp.b32", "shf.l.wrap.b32", "shf.r.clamp.b32", "shf.r.wrap.b32"}) {
    forms.push_back(plain(mnemonic, V::b32, {V::b32, V::b32, V::shift}));
  }
}

void add_moves(std::vector<Form>& forms) {
  for (const char* mode : {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"}) {
    forms.push_back(plain(std::string("prmt.b32") + mode, V::b32, {V::b32, V::b32, V::b32}));
  }
  forms.push_back({.name = "mov.b32 packs",
                   .body = "mov.b32 %d0, {%a0, %a1};",
                   .results = {V::b32},
                   .sources = {V::b16, V::b16}});
  forms.push_back({.name = "mov.b32 unpacks",
                   .body = "mov.b32 {%d0, %d1}, %a0;",
                   .results = {V::b16, V::b16},
                   .sources = {V::b32}});
  forms.push_back({.name = "mov.b64 packs",
                   .body = "mov.b64 %d0, {%a0, %a1};",
                   .results = {V::b64},
                   .sources = {V::b32, V::b32}});
  forms.push_back({.name = "mov.b64 unpacks",
                   .body = "mov.b64 {%d0, %d1}, %a0;",
                   .results = {V::b32, V::b32},
                   .sources = {V::b64}});
}

}  // namespace

void add_bit_forms(std::vector<Form>& forms) {
  add_fields(forms);
  add_logic(forms);
  add_shifts(forms);
  add_moves(forms);
}

}  // namespace bitgate::machine::vectors
