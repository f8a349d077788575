#include "reference/machine/hazard/kernels/primitives.cuh"

// Half of each warp skips the barrier.
extern "C" __global__ void barrier_in_branch(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
  s[threadIdx.x] = x[threadIdx.x];
#ifdef RIGHT
  __syncthreads();
  if (threadIdx.x % 32 < 16) out[threadIdx.x] = s[threadIdx.x ^ 1];
#else
  if (threadIdx.x % 32 < 16) {
    __syncthreads();  // @barrier
    s[threadIdx.x] += 1;
  }
  out[threadIdx.x] = s[threadIdx.x];
#endif
}
