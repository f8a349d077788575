#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void taint_shuffle_lane(const unsigned* x, unsigned* out) {
  out[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x, x[threadIdx.x] % 32);  // @sink
}
