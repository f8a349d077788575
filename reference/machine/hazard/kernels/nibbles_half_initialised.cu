#include "reference/machine/hazard/kernels/primitives.cuh"

// A word whose lower nibbles were packed and whose upper ones were not.
extern "C" __global__ void nibbles_half_initialised(const unsigned* x, unsigned* out) {
  const unsigned nothing = uninitialised();
  unsigned word = (nothing & 0xf0f0f0f0u) | (x[threadIdx.x] & 0x0f0f0f0fu);
  asm volatile("" : "+r"(word));
#ifdef RIGHT
  out[threadIdx.x] = word & 0x0f0f0f0fu;
#else
  out[threadIdx.x] = word >> 2 & 0x0f0f0f0fu;  // @store
#endif
}
