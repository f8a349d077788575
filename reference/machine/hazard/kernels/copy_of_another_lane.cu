#include "reference/machine/hazard/kernels/primitives.cuh"

// A wait makes visible the copies of the thread that waits, and of no other.
extern "C" __global__ void copy_of_another_lane(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[32];
  copy_async<4>(&s[threadIdx.x], &x[threadIdx.x]);  // @copy
  commit_group();
  wait_group<0>();
#ifdef RIGHT
  __syncwarp();
#endif
  out[threadIdx.x] = s[threadIdx.x ^ 1];  // @read
}
