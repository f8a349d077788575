#include "reference/machine/hazard/kernels/primitives.cuh"

// A loop that does not end: the time limit does.
extern "C" __global__ void endless(const unsigned* x, unsigned* out) {
  unsigned v = x[threadIdx.x] | 1u;
#ifdef RIGHT
#pragma unroll 1
  for (int i = 0; i < 100; ++i) v *= 3u;
#else
#pragma unroll 1
  while (v != 0) v *= 3u;  // @loop
#endif
  out[threadIdx.x] = v;
}
