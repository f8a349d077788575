#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void taint_clock(const unsigned* x, unsigned* out) {
  unsigned ticks;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(ticks));
  out[threadIdx.x] = ticks % 2 + x[threadIdx.x];  // @sink
}
