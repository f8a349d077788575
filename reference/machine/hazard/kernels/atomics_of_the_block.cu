#include "reference/machine/hazard/kernels/primitives.cuh"

// Atomics whose scope is the block are not atomic for another block.
extern "C" __global__ void atomics_of_the_block(const unsigned* x, unsigned* out) {
#ifdef RIGHT
  atomicAdd(&out[threadIdx.x], x[threadIdx.x]);
#else
  atomicAdd_block(&out[threadIdx.x], x[threadIdx.x]);  // @add
#endif
}
