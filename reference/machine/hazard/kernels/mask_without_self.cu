#include "reference/machine/hazard/kernels/primitives.cuh"

// A lane that its own mask does not name.
extern "C" __global__ void mask_without_self(const unsigned* x, unsigned* out) {
#ifdef RIGHT
  const unsigned mask = 0xffffffffu;
#else
  const unsigned mask = 0x0000ffffu;
#endif
  out[threadIdx.x] = __shfl_xor_sync(mask, x[threadIdx.x], 1);  // @shuffle
}
