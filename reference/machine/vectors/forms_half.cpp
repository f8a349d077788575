#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

// PTX ISA 9.7.4: f16 and bf16 arithmetic, one element and two.

namespace bitgate::machine::vectors {

namespace {

using V = Value;

void add_f16(std::vector<Form>& forms, V type) {
  const std::string name = "." + std::string(shape(type).name);
  const std::vector<V> one{type};
  const std::vector<V> two{type, type};
  const std::vector<V> three{type, type, type};
  for (const char* flush : {"", ".ftz"}) {
    const std::string ftz = flush;
    for (const char* sat : {"", ".sat"}) {
      for (const char* round : {"", ".rn"}) {
        for (const char* op : {"add", "sub", "mul"}) {
          forms.push_back(plain(std::string(op) + round + ftz + sat + name, type, two));
        }
      }
    }
    for (const char* clamp : {"", ".sat", ".relu"}) {
      forms.push_back(plain("fma.rn" + ftz + clamp + name, type, three));
    }
    for (const char* op : {"min", "max"}) {
      for (const char* modes : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"}) {
        forms.push_back(plain(op + ftz + modes + name, type, two));
      }
    }
    forms.push_back(plain("abs" + ftz + name, type, one));
    forms.push_back(plain("neg" + ftz + name, type, one));
  }
}

void add_bf16(std::vector<Form>& forms, V type) {
  const std::string name = "." + std::string(shape(type).name);
  for (const char* round : {"", ".rn"}) {
    for (const char* op : {"add", "sub", "mul"}) {
      forms.push_back(plain(std::string(op) + round + name, type, {type, type}));
    }
  }
  for (const char* clamp : {"", ".relu"}) {
    forms.push_back(plain(std::string("fma.rn") + clamp + name, type, {type, type, type}));
  }
  for (const char* op : {"min", "max"}) {
    for (const char* modes : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"}) {
      forms.push_back(plain(std::string(op) + modes + name, type, {type, type}));
    }
  }
  forms.push_back(plain("abs" + name, type, {type}));
  forms.push_back(plain("neg" + name, type, {type}));
}

}  // namespace

void add_half_forms(std::vector<Form>& forms) {
  add_f16(forms, V::f16);
  add_f16(forms, V::f16x2);
  add_bf16(forms, V::bf16);
  add_bf16(forms, V::bf16x2);
  for (const V type : {V::f16, V::f16x2, V::bf16, V::bf16x2}) {
    for (const char* clamp : {"", ".relu"}) {
      forms.push_back(plain(std::string("fma.rn.oob") + clamp + "." + std::string(shape(type).name),
                            type, {type, type, type}));
    }
  }
}

}  // namespace bitgate::machine::vectors
