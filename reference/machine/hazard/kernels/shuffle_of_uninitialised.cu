#include "reference/machine/hazard/kernels/primitives.cuh"

// Sixteen lanes have a value. A shuffle gives each lane the validity of its source.
extern "C" __global__ void shuffle_of_uninitialised(const unsigned* x, unsigned* out) {
  const unsigned nothing = uninitialised();
  const unsigned v = threadIdx.x < 16 ? x[threadIdx.x] : nothing;
#ifdef RIGHT
  out[threadIdx.x] = __shfl_sync(0xffffffffu, v, threadIdx.x % 16);
#else
  out[threadIdx.x] = __shfl_sync(0xffffffffu, v, threadIdx.x % 17);  // @store
#endif
}
