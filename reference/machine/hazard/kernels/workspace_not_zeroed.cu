#include "reference/machine/hazard/kernels/primitives.cuh"

// Adds to a workspace that nobody cleared.
extern "C" __global__ void workspace_not_zeroed(const unsigned* x, unsigned* out, unsigned* work) {
  const unsigned before = work[threadIdx.x];  // @read
  work[threadIdx.x] = before + x[threadIdx.x];
  out[threadIdx.x] = before + x[threadIdx.x];  // @store
}
