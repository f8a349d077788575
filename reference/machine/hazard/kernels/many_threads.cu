#include "reference/machine/hazard/kernels/primitives.cuh"

// 131072 threads that keep to themselves, but for the last.
extern "C" __global__ void many_threads(const unsigned* x, unsigned* out) {
  const unsigned i = 1024 * blockIdx.x + threadIdx.x;
  out[i] = x[threadIdx.x] + i;  // @own
#ifndef RIGHT
  if (i == 1024 * gridDim.x - 1) out[0] = 1;  // @first
#endif
}
