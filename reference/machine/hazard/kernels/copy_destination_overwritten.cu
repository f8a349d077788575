#include "reference/machine/hazard/kernels/primitives.cuh"

// A thread writes where its own copy is still to land.
extern "C" __global__ void copy_destination_overwritten(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[32];
  copy_async<4>(&s[threadIdx.x], &x[threadIdx.x]);  // @copy
  commit_group();
#ifdef RIGHT
  wait_group<0>();
#endif
  s[threadIdx.x] = threadIdx.x;  // @write
#ifndef RIGHT
  wait_group<0>();
#endif
  out[threadIdx.x] = s[threadIdx.x];
}
