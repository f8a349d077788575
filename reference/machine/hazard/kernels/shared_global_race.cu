#include "reference/machine/hazard/kernels/primitives.cuh"

// Two blocks, one word of global memory.
extern "C" __global__ void shared_global_race(const unsigned* x, unsigned* out) {
  if (blockIdx.x == 0) out[threadIdx.x] = 2 * x[threadIdx.x];  // @first
#ifdef RIGHT
  if (blockIdx.x == 1) out[64 + threadIdx.x] = x[64 + threadIdx.x];
#else
  if (blockIdx.x == 1) out[63 - threadIdx.x] = 2 * x[64 + threadIdx.x] + 1;  // @second
#endif
}
