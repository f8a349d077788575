#include "reference/machine/hazard/kernels/primitives.cuh"

// The first block zeroes the output and waits for its own threads, while others already add (field
// bug B24). Right: it is zero before the launch.
extern "C" __global__ void zeroed_in_kernel(const unsigned* x, unsigned* out) {
#ifndef RIGHT
  if (blockIdx.x == 0) out[threadIdx.x] = 0;  // @zero
  __syncthreads();
#endif
  atomicAdd(&out[threadIdx.x], x[64 * blockIdx.x + threadIdx.x]);  // @add
}
