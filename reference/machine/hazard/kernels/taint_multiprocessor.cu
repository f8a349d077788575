#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void taint_multiprocessor(const unsigned* x, unsigned* out) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  out[threadIdx.x] = multiprocessor + x[threadIdx.x];  // @sink
}
