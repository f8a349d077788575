#include "reference/machine/hazard/kernels/primitives.cuh"

// The source of a copy changes before the copy is waited for.
extern "C" __global__ void copy_source_overwritten(const unsigned* x, unsigned* out,
                                                   unsigned* work) {
  __shared__ unsigned s[32];
  copy_async<4>(&s[threadIdx.x], &work[threadIdx.x]);  // @copy
  commit_group();
#ifdef RIGHT
  wait_group<0>();
#endif
  work[threadIdx.x] = x[threadIdx.x];  // @write
#ifndef RIGHT
  wait_group<0>();
#endif
  out[threadIdx.x] = s[threadIdx.x];
}
