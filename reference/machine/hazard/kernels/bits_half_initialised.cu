#include "reference/machine/hazard/kernels/primitives.cuh"

// The lower half of a word through lop3, shifts, bit fields and prmt, the upper one beside it.
extern "C" __global__ void bits_half_initialised(const unsigned* x, unsigned* out) {
  const unsigned nothing = uninitialised();
  unsigned word;
  asm volatile("bfi.b32 %0, %1, %2, 0, 16;" : "=r"(word) : "r"(x[threadIdx.x]), "r"(nothing));
  unsigned field;
  asm volatile("bfe.u32 %0, %1, 4, 12;" : "=r"(field) : "r"(word));
  unsigned shifted;
  asm volatile("shl.b32 %0, %1, 16;" : "=r"(shifted) : "r"(word));
  unsigned chosen;
  asm volatile("lop3.b32 %0, %1, %2, 0xffff, 0x6a;" : "=r"(chosen) : "r"(field), "r"(word));
  unsigned bytes;
#ifdef RIGHT
  asm volatile("prmt.b32 %0, %1, %2, 0x7610;" : "=r"(bytes) : "r"(word), "r"(shifted));
#else
  asm volatile("prmt.b32 %0, %1, %2, 0x7620;" : "=r"(bytes) : "r"(word), "r"(shifted));
#endif
  out[threadIdx.x] = bytes ^ chosen;  // @store
}
