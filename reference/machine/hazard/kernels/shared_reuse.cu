#include "reference/machine/hazard/kernels/primitives.cuh"

// Three tiles pass through one buffer. Without a barrier at the end of the loop a fast warp writes
// the next tile while a slow one still reads this one.
extern "C" __global__ void shared_reuse(const unsigned* x, unsigned* out) {
  __shared__ unsigned tile[64];
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned i = 0; i < 3; ++i) {
    tile[threadIdx.x] = x[64 * i + threadIdx.x];  // @write
    __syncthreads();
    sum += tile[63 - threadIdx.x];  // @read
#ifdef RIGHT
    __syncthreads();
#endif
  }
  out[threadIdx.x] = sum;
}
