#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void out_of_bounds_shared(const unsigned* x, unsigned* out) {
  __shared__ unsigned tile[64];
#ifdef RIGHT
  tile[threadIdx.x] = x[threadIdx.x];
#else
  tile[threadIdx.x + (threadIdx.x == 63)] = x[threadIdx.x];  // @store
#endif
  out[threadIdx.x] = threadIdx.x < 63 ? tile[threadIdx.x] : 0;
}
