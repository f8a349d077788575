#include "reference/machine/hazard/kernels/primitives.cuh"

// Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2; warp 0 reads what warp 2 wrote.
extern "C" __global__ void barrier_of_other_warps(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[128];
  s[threadIdx.x] = x[threadIdx.x];  // @write
  bar_sync(1 + static_cast<int>(threadIdx.x / 64), 64);
#ifdef RIGHT
  out[threadIdx.x] = s[threadIdx.x ^ 32];
#else
  out[threadIdx.x] = s[threadIdx.x ^ 64];  // @read
#endif
}
