#include "reference/machine/hazard/kernels/primitives.cuh"

// A ticket is an output.
extern "C" __global__ void taint_atomic_result(const unsigned* x, unsigned* out, unsigned* count) {
  if (threadIdx.x != 0) return;
#ifdef RIGHT
  atomicAdd(count, 1);
  out[blockIdx.x] = x[blockIdx.x];
#else
  out[blockIdx.x] = atomicAdd(count, 1) + x[blockIdx.x];  // @sink
#endif
}
