#include <string>
#include <vector>

#include "reference/machine/vectors/form.h"

// PTX ISA 9.7.18: video instructions, scalar and SIMD. sm_90 emulates them. Saturated shifts and
// saturation into a part of the destination are left out: what ptxas 13.0 makes of them is not what
// PTX says (measured), and the machine refuses them. So are vshl.min and vshl.max.

namespace bitgate::machine::vectors {

namespace {

using V = Value;

V of(const std::string& type) { return type == "s32" ? V::s32 : V::u32; }

void add_scalar(std::vector<Form>& forms) {
  const std::vector<V> two{V::bytes, V::bytes};
  const std::vector<V> three{V::bytes, V::bytes, V::bytes};
  const auto add = [&](const std::string& mnemonic, const std::string& operands, V result,
                       std::vector<V> sources) {
    forms.push_back({.name = mnemonic + operands,
                     .body = mnemonic + " " + operands + ";",
                     .results = {result},
                     .sources = std::move(sources)});
  };
  for (const char* op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
    for (const char* d : {"u32", "s32"}) {
      for (const char* a : {"u32", "s32"}) {
        for (const char* b : {"u32", "s32"}) {
          const std::string mnemonic = std::string(op) + "." + d + "." + a + "." + b;
          add(mnemonic, "%d0, %a0, %a1", of(d), two);
          add(mnemonic + ".min", "%d0, %a0, %a1, %a2", of(d), three);
          add(mnemonic + ".max", "%d0, %a0, %a1, %a2", of(d), three);
        }
      }
      const std::string same = std::string(op) + "." + d + ".s32.s32";
      add(same, "%d0, %a0.b1, %a1.h1", of(d), two);
      add(same + ".sat", "%d0, %a0, %a1", of(d), two);
      add(same + ".sat", "%d0, %a0.h0, %a1.b3", of(d), two);
      add(same + ".add", "%d0, %a0.b0, %a1.b2, %a2", of(d), three);
      add(same + ".min", "%d0, %a0.h0, %a1.h1, %a2", of(d), three);
      add(same, "%d0.b2, %a0.b1, %a1.b0, %a2", of(d), three);
    }
  }
  for (const char* op : {"vshl", "vshr"}) {
    for (const char* mode : {"clamp", "wrap"}) {
      for (const char* a : {"u32", "s32"}) {
        const std::string mnemonic = std::string(op) + "." + a + "." + a + ".u32." + mode;
        add(mnemonic, "%d0, %a0, %a1", of(a), {V::bytes, V::shift});
        add(mnemonic + ".add", "%d0, %a0, %a1, %a2", of(a), {V::bytes, V::shift, V::b32});
        if (std::string(op) == "vshl") continue;
        add(mnemonic + ".min", "%d0, %a0, %a1, %a2", of(a), {V::bytes, V::shift, V::b32});
        add(mnemonic + ".max", "%d0, %a0, %a1, %a2", of(a), {V::bytes, V::shift, V::b32});
      }
    }
  }
  for (const char* d : {"u32", "s32"}) {
    const std::string types = std::string(d) + ".s32.s32";
    add("vmad.s32.s32.s32", std::string("%d0, %a0.b0, %a1.b1, %a2"), V::s32, three);
    forms.back().name = "vmad." + types + " " + d;
    forms.back().body = "vmad." + types + " %d0, %a0.b0, %a1.b1, %a2;";
    add("vmad." + types + ".sat", "%d0, %a0.h0, %a1.h1, %a2", of(d), three);
    add("vmad." + types + ".shr7", "%d0, %a0.h0, %a1.b1, %a2", of(d), three);
    add("vmad." + types + ".sat.shr15", "%d0, %a0.h0, %a1.h1, %a2", of(d), three);
  }
  add("vmad.u32.u32.u32.po", "%d0, %a0.b0, %a1.b1, %a2", V::u32, three);
  for (const char* types : {"u32.u32", "s32.s32", "u32.s32"}) {
    for (const char* compare : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      const std::string mnemonic = std::string("vset.") + types + "." + compare;
      add(mnemonic, "%d0, %a0, %a1", V::u32, two);
      add(mnemonic + ".add", "%d0, %a0.b0, %a1.h1, %a2", V::u32, three);
    }
  }
}

void add_simd(std::vector<Form>& forms) {
  const auto add = [&](const std::string& mnemonic) {
    forms.push_back(plain(mnemonic, V::b32, {V::bytes, V::bytes, V::bytes}));
  };
  for (const char* lanes : {"2", "4"}) {
    for (const char* op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"}) {
      for (const char* d : {"u32", "s32"}) {
        for (const char* ab : {"u32.u32", "s32.s32", "u32.s32"}) {
          const std::string mnemonic = std::string(op) + lanes + "." + d + "." + ab;
          add(mnemonic);
          if (std::string(op) != "vavrg") add(mnemonic + ".sat");
          add(mnemonic + ".add");
        }
      }
    }
    for (const char* types : {"u32.u32", "s32.s32", "u32.s32"}) {
      for (const char* compare : {"eq", "ne", "lt", "le", "gt", "ge"}) {
        const std::string mnemonic = std::string("vset") + lanes + "." + types + "." + compare;
        add(mnemonic);
        add(mnemonic + ".add");
      }
    }
  }
}

}  // namespace

void add_video_forms(std::vector<Form>& forms) {
  add_scalar(forms);
  add_simd(forms);
}

}  // namespace bitgate::machine::vectors
