#include "reference/machine/hazard/kernels/primitives.cuh"

// The lower lanes wait in a shuffle for the upper ones, which wait for them in a warp barrier.
extern "C" __global__ void mask_names_absent_lanes(const unsigned* x, unsigned* out) {
  unsigned v = x[threadIdx.x];
  if (threadIdx.x < 16) {
#ifdef RIGHT
    v += __shfl_xor_sync(0x0000ffffu, v, 1);
    __syncwarp();
#else
    v += __shfl_xor_sync(0xffffffffu, v, 1);  // @waits
#endif
  } else {
    __syncwarp();  // @waits
    v += 1;
  }
  out[threadIdx.x] = v;
}
