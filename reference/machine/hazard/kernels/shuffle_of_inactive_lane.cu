#include "reference/machine/hazard/kernels/primitives.cuh"

// Sixteen lanes shuffle, and take the value of one of the other sixteen.
extern "C" __global__ void shuffle_of_inactive_lane(const unsigned* x, unsigned* out) {
  unsigned v = x[threadIdx.x];
  if (threadIdx.x < 16) {
#ifdef RIGHT
    v = __shfl_sync(0x0000ffffu, v, (threadIdx.x + 8) % 16);
#else
    v = __shfl_sync(0x0000ffffu, v, threadIdx.x + 16);  // @shuffle
#endif
  }
  out[threadIdx.x] = v;
}
