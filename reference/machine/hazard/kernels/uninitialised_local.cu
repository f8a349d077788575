#include "reference/machine/hazard/kernels/primitives.cuh"

// An array of a thread, of which two elements are left.
extern "C" __global__ void uninitialised_local(const unsigned* x, unsigned* out) {
  unsigned words[8];
#pragma unroll 1
  for (unsigned i = 0; i < 6; ++i) words[i] = x[64 * i + threadIdx.x];
#ifdef RIGHT
  const unsigned v = words[threadIdx.x % 6];
#else
  const unsigned v = words[threadIdx.x % 8];  // @read
#endif
  out[threadIdx.x] = v * 3;  // @store
}
