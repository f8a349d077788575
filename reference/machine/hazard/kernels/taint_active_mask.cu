#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void taint_active_mask(const unsigned* x, unsigned* out) {
  out[threadIdx.x] = __activemask() + x[threadIdx.x];  // @sink
}
