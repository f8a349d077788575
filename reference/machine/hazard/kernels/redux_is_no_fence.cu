#include "reference/machine/hazard/kernels/primitives.cuh"

// A warp-wide reduction orders no memory.
extern "C" __global__ void redux_is_no_fence(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[32];
  const unsigned v = x[threadIdx.x];
  s[threadIdx.x] = v;  // @write
  const unsigned total = __reduce_add_sync(0xffffffffu, v);
#ifdef RIGHT
  __syncwarp();
#endif
  out[threadIdx.x] = total + s[threadIdx.x ^ 1];  // @read
}
