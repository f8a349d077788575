#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void out_of_bounds_store(const unsigned* x, unsigned* out) {
#ifdef RIGHT
  if (threadIdx.x < 63)
#endif
    out[threadIdx.x] = x[threadIdx.x];  // @store
}
