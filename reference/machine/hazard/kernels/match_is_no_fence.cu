#include "reference/machine/hazard/kernels/primitives.cuh"

// A match orders no memory.
extern "C" __global__ void match_is_no_fence(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[32];
  const unsigned v = x[threadIdx.x];
  s[threadIdx.x] = v;  // @write
  const unsigned same = __match_any_sync(0xffffffffu, v % 4);
#ifdef RIGHT
  __syncwarp();
#endif
  out[threadIdx.x] = same + s[threadIdx.x ^ 1];  // @read
}
