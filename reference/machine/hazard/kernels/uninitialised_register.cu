#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void uninitialised_register(const unsigned* x, unsigned* out) {
  const unsigned nothing = uninitialised();
#ifdef RIGHT
  const unsigned v = x[threadIdx.x];
  asm volatile("" ::"r"(nothing));
#else
  const unsigned v = threadIdx.x < 40 ? x[threadIdx.x] : nothing;
#endif
  out[threadIdx.x] = v;  // @store
}
