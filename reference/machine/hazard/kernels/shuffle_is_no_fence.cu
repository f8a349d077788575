#include "reference/machine/hazard/kernels/primitives.cuh"

// A shuffle has all lanes meet, and orders no memory.
extern "C" __global__ void shuffle_is_no_fence(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[32];
  const unsigned v = x[threadIdx.x];
  s[threadIdx.x] = v;  // @write
  const unsigned sum = v + __shfl_xor_sync(0xffffffffu, v, 1);
#ifdef RIGHT
  __syncwarp();
#endif
  out[threadIdx.x] = sum + s[threadIdx.x ^ 1];  // @read
}
