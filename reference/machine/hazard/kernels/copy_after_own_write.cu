#include "reference/machine/hazard/kernels/primitives.cuh"

// A copy comes after its thread's earlier instructions, so that it may read what they wrote. What
// another lane wrote is another matter.
extern "C" __global__ void copy_after_own_write(const unsigned* x, unsigned* out, unsigned* work) {
  __shared__ unsigned s[32];
  work[threadIdx.x] = x[threadIdx.x];  // @write
#ifdef RIGHT
  copy_async<4>(&s[threadIdx.x], &work[threadIdx.x]);
#else
  copy_async<4>(&s[threadIdx.x], &work[threadIdx.x ^ 1]);  // @copy
#endif
  commit_group();
  wait_group<0>();
  out[threadIdx.x] = s[threadIdx.x];
}
