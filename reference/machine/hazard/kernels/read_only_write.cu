#include "reference/machine/hazard/kernels/primitives.cuh"

// A table that the launch only lends is scaled in place.
extern "C" __global__ void read_only_write(const unsigned* x, unsigned* out, unsigned* table) {
  const unsigned v = table[threadIdx.x] * x[threadIdx.x];
#ifndef RIGHT
  table[threadIdx.x] = v;  // @write
#endif
  out[threadIdx.x] = v;
}
