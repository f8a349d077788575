#include "reference/machine/hazard/kernels/primitives.cuh"

// Operands are fetched from shared memory, which then serves as the scratch of a reduction: the
// first partial sums may land on operands that another warp has not fetched (field bug B36).
extern "C" __global__ void reduce_after_fetch(const unsigned* x, unsigned* out) {
  __shared__ unsigned words[64];
  words[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const unsigned operand = words[63 - threadIdx.x];  // @fetch
#ifdef RIGHT
  __syncthreads();
#endif
  if (threadIdx.x >= 32) words[threadIdx.x - 32] = operand * 3;  // @scratch
  __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = operand + words[threadIdx.x];
}
