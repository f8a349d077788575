#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

// PTX ISA 9.7.3: f32 and f64 arithmetic.

namespace bitgate::machine::vectors {

namespace {

using V = Value;

void add_single(std::vector<Form>& forms) {
  const std::vector<V> one{V::f32};
  const std::vector<V> two{V::f32, V::f32};
  const std::vector<V> three{V::f32, V::f32, V::f32};
  for (const char* round : {".rn", ".rz", ".rm", ".rp"}) {
    for (const char* flush : {"", ".ftz"}) {
      const std::string modes = std::string(round) + flush;
      for (const char* sat : {"", ".sat"}) {
        for (const char* op : {"add", "sub", "mul"}) {
          forms.push_back(plain(op + modes + sat + ".f32", V::f32, two));
        }
        for (const char* op : {"fma", "mad"}) {
          forms.push_back(plain(op + modes + sat + ".f32", V::f32, three));
        }
      }
      forms.push_back(plain("div" + modes + ".f32", V::f32, two));
      forms.push_back(plain("rcp" + modes + ".f32", V::f32, one));
      forms.push_back(plain("sqrt" + modes + ".f32", V::f32, one));
    }
  }
  for (const char* flush : {"", ".ftz"}) {
    const std::string ftz = flush;
    for (const char* sat : {"", ".sat"}) {
      for (const char* op : {"add", "sub", "mul"}) {
        forms.push_back(plain(op + ftz + sat + ".f32", V::f32, two));
      }
    }
    for (const char* op : {"min", "max"}) {
      for (const char* modes : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"}) {
        forms.push_back(plain(op + ftz + modes + ".f32", V::f32, two));
      }
    }
    forms.push_back(plain("abs" + ftz + ".f32", V::f32, one));
    forms.push_back(plain("neg" + ftz + ".f32", V::f32, one));
  }
  forms.push_back(plain("copysign.f32", V::f32, two));
}

void add_double(std::vector<Form>& forms) {
  const std::vector<V> one{V::f64};
  const std::vector<V> two{V::f64, V::f64};
  const std::vector<V> three{V::f64, V::f64, V::f64};
  for (const char* round : {".rn", ".rz", ".rm", ".rp"}) {
    const std::string mode = std::string(round) + ".f64";
    for (const char* op : {"add", "sub", "mul", "div"})
      forms.push_back(plain(op + mode, V::f64, two));
    for (const char* op : {"fma", "mad"}) forms.push_back(plain(op + mode, V::f64, three));
    for (const char* op : {"rcp", "sqrt"}) forms.push_back(plain(op + mode, V::f64, one));
  }
  for (const char* op : {"add", "sub", "mul", "min", "max", "copysign"}) {
    forms.push_back(plain(std::string(op) + ".f64", V::f64, two));
  }
  for (const char* op : {"abs", "neg"})
    forms.push_back(plain(std::string(op) + ".f64", V::f64, one));
}

}  // namespace

void add_float_forms(std::vector<Form>& forms) {
  add_single(forms);
  add_double(forms);
  for (const char* property :
       {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    forms.push_back(plain(std::string("testp.") + property + ".f32", V::predicate, {V::f32}));
    forms.push_back(plain(std::string("testp.") + property + ".f64", V::predicate, {V::f64}));
  }
}

}  // namespace bitgate::machine::vectors
