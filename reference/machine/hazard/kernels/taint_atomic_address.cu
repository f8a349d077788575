#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void taint_atomic_address(const unsigned* x, unsigned* out) {
  atomicAdd(&out[x[threadIdx.x] % 32], 1);  // @sink
}
