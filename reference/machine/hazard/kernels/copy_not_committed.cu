#include "reference/machine/hazard/kernels/primitives.cuh"

// A copy that belongs to no group yet is not waited for by wait_group.
extern "C" __global__ void copy_not_committed(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[32];
  copy_async<4>(&s[threadIdx.x], &x[threadIdx.x]);  // @copy
#ifdef RIGHT
  commit_group();
#endif
  wait_group<0>();
  out[threadIdx.x] = s[threadIdx.x];  // @read
}
