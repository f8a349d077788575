#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void taint_store_address(const unsigned* x, unsigned* out) {
  out[(x[0] + threadIdx.x) % 32] = threadIdx.x;  // @sink
}
