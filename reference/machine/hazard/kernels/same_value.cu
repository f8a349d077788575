#include "reference/machine/hazard/kernels/primitives.cuh"

// Two blocks write the same value: a race whose outcome is defined.
extern "C" __global__ void same_value(const unsigned* x, unsigned* out) {
#ifdef RIGHT
  if (blockIdx.x == 1) return;
#endif
  out[threadIdx.x] = x[threadIdx.x] + 1;  // @write
}
