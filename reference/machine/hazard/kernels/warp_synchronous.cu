#include "reference/machine/hazard/kernels/primitives.cuh"

// Lanes of a warp are separate threads: what one writes another reads only after __syncwarp.
extern "C" __global__ void warp_synchronous(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[32];
  s[threadIdx.x] = x[threadIdx.x];  // @write
#ifdef RIGHT
  __syncwarp();
#endif
  out[threadIdx.x] = s[threadIdx.x ^ 16] + 1;  // @read
}
