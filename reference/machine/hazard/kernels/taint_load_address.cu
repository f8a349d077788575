#include "reference/machine/hazard/kernels/primitives.cuh"

// A gather from what the launch itself writes. Right: from a buffer that nothing writes, which a
// certificate admits.
extern "C" __global__ void taint_load_address(const unsigned* x, unsigned* out, unsigned* work) {
  work[threadIdx.x] = threadIdx.x * 3;
  __syncwarp();
#ifdef RIGHT
  out[threadIdx.x] = x[x[threadIdx.x] % 32] + work[threadIdx.x];
#else
  out[threadIdx.x] = work[x[threadIdx.x] % 32];  // @sink
#endif
}
