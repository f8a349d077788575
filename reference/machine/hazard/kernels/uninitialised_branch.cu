#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void uninitialised_branch(const unsigned* x, unsigned* out,
                                                const unsigned* work) {
  const unsigned v = work[threadIdx.x];  // @read
  if (v > 5) {                           // @branch
    out[threadIdx.x] = x[threadIdx.x];
    out[64 + threadIdx.x] = x[64 + threadIdx.x];
  }
}
