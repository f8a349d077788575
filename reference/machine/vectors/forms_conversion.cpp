#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

// PTX ISA 9.7.9: cvt among all types and roundings, packed too; cvt.pack.

namespace bitgate::machine::vectors {

namespace {

using V = Value;

const std::vector<V>& integers() {
  static const std::vector<V> kTypes{V::u8, V::s8, V::u16, V::s16, V::u32, V::s32, V::u64, V::s64};
  return kTypes;
}

std::string dotted(V type) { return "." + std::string(shape(type).name); }

bool is_signed(V type) {
  return type == V::s8 || type == V::s16 || type == V::s32 || type == V::s64;
}

/// Saturation that can change something; ptxas refuses the rest.
bool can_saturate(V to, V from) {
  const unsigned to_bits = shape(to).bits;
  const unsigned from_bits = shape(from).bits;
  if (is_signed(from)) return is_signed(to) ? to_bits < from_bits : true;
  return is_signed(to) ? to_bits <= from_bits : to_bits < from_bits;
}

void add_integer_to_integer(std::vector<Form>& forms) {
  for (const V to : integers()) {
    for (const V from : integers()) {
      const std::string types = dotted(to) + dotted(from);
      forms.push_back(plain("cvt" + types, to, {from}));
      if (can_saturate(to, from)) forms.push_back(plain("cvt.sat" + types, to, {from}));
    }
  }
}

void add_integer_to_float(std::vector<Form>& forms) {
  for (const char* round : {"rn", "rz", "rm", "rp"}) {
    const std::string prefix = std::string("cvt.") + round;
    for (const V from : integers()) {
      for (const V to : {V::f16, V::bf16, V::f32, V::f64}) {
        if (to == V::bf16 && shape(from).bits == 8) continue;  // no such instruction
        forms.push_back(plain(prefix + dotted(to) + dotted(from), to, {from}));
      }
      for (const V to : {V::f16, V::f32, V::f64}) {
        if (round != std::string("rn")) continue;
        forms.push_back(plain(prefix + ".sat" + dotted(to) + dotted(from), to, {from}));
      }
    }
  }
}

void add_float_to_integer(std::vector<Form>& forms) {
  for (const char* round : {"rni", "rzi", "rmi", "rpi"}) {
    const std::string prefix = std::string("cvt.") + round;
    for (const V from : {V::f16, V::bf16, V::f32, V::f64}) {
      for (const V to : integers()) {
        const std::string types = dotted(to) + dotted(from);
        if (from == V::bf16) {
          if (shape(to).bits != 8) forms.push_back(plain(prefix + types, to, {from}));
          continue;
        }
        forms.push_back(plain(prefix + types, to, {from}));
        forms.push_back(plain(prefix + ".sat" + types, to, {from}));
        if (from == V::f32) {
          forms.push_back(plain(prefix + ".ftz" + types, to, {from}));
          forms.push_back(plain(prefix + ".ftz.sat" + types, to, {from}));
        }
      }
    }
  }
}

void add_float_to_float(std::vector<Form>& forms) {
  const auto add = [&](const std::string& mnemonic, V to, V from) {
    forms.push_back(plain(mnemonic + dotted(to) + dotted(from), to, {from}));
  };
  // To a wider type.
  for (const char* modes : {"cvt", "cvt.sat", "cvt.ftz", "cvt.ftz.sat"}) {
    add(modes, V::f32, V::f16);
    add(modes, V::f64, V::f32);
  }
  add("cvt", V::f64, V::f16);
  add("cvt.sat", V::f64, V::f16);
  add("cvt", V::f32, V::bf16);
  add("cvt", V::f64, V::bf16);
  // To a narrower one.
  for (const char* round : {"cvt.rn", "cvt.rz", "cvt.rm", "cvt.rp"}) {
    for (const char* modes : {"", ".sat", ".ftz", ".ftz.sat"}) {
      add(std::string(round) + modes, V::f32, V::f64);
      add(std::string(round) + modes, V::f16, V::f32);
    }
    add(round, V::f16, V::f64);
    add(std::string(round) + ".sat", V::f16, V::f64);
    add(round, V::bf16, V::f64);
    add(round, V::bf16, V::f16);
    add(round, V::f16, V::bf16);
  }
  for (const char* round : {"cvt.rn", "cvt.rz"}) {
    for (const char* modes : {"", ".relu", ".satfinite", ".relu.satfinite"}) {
      const std::string prefix = std::string(round) + modes;
      if (modes != std::string("")) add(prefix, V::f16, V::f32);
      add(prefix, V::bf16, V::f32);
      forms.push_back(plain(prefix + ".f16x2.f32", V::f16x2, {V::f32, V::f32}));
      forms.push_back(plain(prefix + ".bf16x2.f32", V::bf16x2, {V::f32, V::f32}));
    }
    add(round, V::tf32, V::f32);
    add(std::string(round) + ".relu", V::tf32, V::f32);
  }
  add("cvt.rna", V::tf32, V::f32);
  add("cvt.rna.satfinite", V::tf32, V::f32);
  // To the same type: rounded to an integer, or only flushed or clamped.
  for (const char* round : {"cvt.rni", "cvt.rzi", "cvt.rmi", "cvt.rpi"}) {
    for (const char* modes : {"", ".sat", ".ftz", ".ftz.sat"}) {
      add(std::string(round) + modes, V::f32, V::f32);
    }
    for (const V type : {V::f16, V::f64}) {
      add(round, type, type);
      add(std::string(round) + ".sat", type, type);
    }
    add(round, V::bf16, V::bf16);
  }
  for (const char* modes : {"cvt", "cvt.sat", "cvt.ftz", "cvt.ftz.sat"}) add(modes, V::f32, V::f32);
  for (const V type : {V::f16, V::f64}) {
    add("cvt", type, type);
    add("cvt.sat", type, type);
  }
}

void add_eight_bit_floats(std::vector<Form>& forms) {
  for (const V type : {V::e4m3x2, V::e5m2x2}) {
    for (const char* modes : {"cvt.rn.satfinite", "cvt.rn.satfinite.relu"}) {
      forms.push_back(plain(modes + dotted(type) + ".f32", type, {V::f32, V::f32}));
      forms.push_back(plain(modes + dotted(type) + ".f16x2", type, {V::f16x2}));
    }
    forms.push_back(plain("cvt.rn.f16x2" + dotted(type), V::f16x2, {type}));
    forms.push_back(plain("cvt.rn.relu.f16x2" + dotted(type), V::f16x2, {type}));
  }
}

void add_packs(std::vector<Form>& forms) {
  for (const char* to : {"u16", "s16"}) {
    forms.push_back(plain(std::string("cvt.pack.sat.") + to + ".s32", V::b32, {V::s32, V::s32}));
  }
  for (const char* to : {"u8", "s8", "u4", "s4", "u2", "s2"}) {
    forms.push_back(
        plain(std::string("cvt.pack.sat.") + to + ".s32.b32", V::b32, {V::s32, V::s32, V::b32}));
  }
}

}  // namespace

void add_conversion_forms(std::vector<Form>& forms) {
  add_integer_to_integer(forms);
  add_integer_to_float(forms);
  add_float_to_integer(forms);
  add_float_to_float(forms);
  add_eight_bit_floats(forms);
  add_packs(forms);
}

}  // namespace bitgate::machine::vectors
