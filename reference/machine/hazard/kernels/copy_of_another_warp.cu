#include "reference/machine/hazard/kernels/primitives.cuh"

// The barrier comes before the wait instead of after it.
extern "C" __global__ void copy_of_another_warp(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
  copy_async<4>(&s[threadIdx.x], &x[threadIdx.x]);  // @copy
  commit_group();
#ifdef RIGHT
  wait_group<0>();
  __syncthreads();
#else
  __syncthreads();
  wait_group<0>();
#endif
  out[threadIdx.x] = s[threadIdx.x ^ 32];  // @read
}
