// Atomics of clang's builtins: integers of both widths, scopes, compare-and-swap, f32 and f64 sums
// of whole numbers, exact in any order.
#include "reference/machine/corpus/clang/device.h"

extern "C" __global__ void atomics(const int* x, int* words, long long* wides, float* f, double* d) {
  const int i = index(), v = x[i];
  __nvvm_atom_add_gen_i(&words[0], v);
  __nvvm_atom_min_gen_i(&words[1], v);
  __nvvm_atom_max_gen_ui(reinterpret_cast<unsigned*>(&words[2]), static_cast<unsigned>(v));
  __nvvm_atom_and_gen_i(&words[3], v | 0xff);
  __nvvm_atom_or_gen_i(&words[4], v & 0xff00);
  __nvvm_atom_xor_gen_i(&words[5], v);
  __nvvm_atom_inc_gen_ui(reinterpret_cast<unsigned*>(&words[6]), 9u);
  __nvvm_atom_dec_gen_ui(reinterpret_cast<unsigned*>(&words[7]), 9u);
  __nvvm_atom_add_gen_ll(&wides[0], static_cast<long long>(v) << 20);
  __nvvm_atom_max_gen_ll(&wides[1], static_cast<long long>(v) * v);
  __nvvm_atom_xor_gen_ll(&wides[2], static_cast<long long>(v) << 17);
  __nvvm_atom_cta_add_gen_i(&words[8 + BLOCK], v);
  __nvvm_atom_sys_or_gen_i(&words[12], v);
  __nvvm_atom_add_gen_f(f, static_cast<float>(v & 63));
  __nvvm_atom_add_gen_d(d, static_cast<double>(v));
  int old = *static_cast<volatile int*>(&words[13]), assumed;
  do {
    assumed = old;
    old = __nvvm_atom_cas_gen_i(&words[13], assumed, assumed + (v & 7));
  } while (assumed != old);
}
