#include "reference/machine/hazard/kernels/primitives.cuh"

// Free of races; the sum's bits depend on the order of the blocks. Right: integers, which do not
// care.
extern "C" __global__ void float_atomics(const unsigned* x, void* out) {
  const unsigned v = x[32 * blockIdx.x + threadIdx.x];
#ifdef RIGHT
  atomicAdd(static_cast<unsigned*>(out) + threadIdx.x, v);
#else
  atomicAdd(static_cast<float*>(out) + threadIdx.x, static_cast<float>(v) * 0.1F);  // @add
#endif
}
