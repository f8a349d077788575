#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void uninitialised_shared(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
#ifdef RIGHT
  s[threadIdx.x] = x[threadIdx.x];
#else
  if (threadIdx.x < 40) s[threadIdx.x] = x[threadIdx.x];
#endif
  __syncthreads();
  const unsigned v = s[63 - threadIdx.x];  // @read
  out[threadIdx.x] = v + 1;                // @store
}
