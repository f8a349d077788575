#include "reference/machine/hazard/kernels/primitives.cuh"

// __syncwarp orders the lanes of its mask, and no others.
extern "C" __global__ void warp_barrier_of_half(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[32];
  s[threadIdx.x] = x[threadIdx.x];  // @write
#ifdef RIGHT
  __syncwarp();
#else
  __syncwarp(threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u);
#endif
  out[threadIdx.x] = s[threadIdx.x ^ 16];  // @read
}
