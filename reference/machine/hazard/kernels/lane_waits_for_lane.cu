#include "reference/machine/hazard/kernels/primitives.cuh"

// Lane 0 waits for a word that lane 31 writes: before the warp barrier at which lane 31 waits for
// lane 0, or after it.
extern "C" __global__ void lane_waits_for_lane(const unsigned* x, unsigned* out, unsigned* flag) {
#ifdef RIGHT
  if (threadIdx.x == 31) store_release(flag, x[0] + 1);
#endif
  if (threadIdx.x == 0) {
    while (load_acquire(flag) == 0) {  // @spin
    }
  }
  __syncwarp();  // @barrier
#ifndef RIGHT
  if (threadIdx.x == 31) store_release(flag, x[0] + 1);
#endif
  out[threadIdx.x] = x[threadIdx.x];
}
