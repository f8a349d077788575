#include "reference/machine/hazard/kernels/primitives.cuh"

// Lane 0 passes on, by __syncwarp, what it got from the other warp through a barrier; without the
// barrier it has nothing to pass on.
extern "C" __global__ void warp_barrier_is_cumulative(const unsigned* x, unsigned* out) {
  __shared__ unsigned word;
  if (threadIdx.x == 32) word = x[0];  // @write
#ifdef RIGHT
  if (threadIdx.x == 0) {
    asm volatile("barrier.sync 1, 64;" ::: "memory");
  } else if (threadIdx.x >= 32) {
    asm volatile("barrier.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("barrier.sync 1, 64;" ::: "memory");
  }
#endif
  __syncwarp();
  if (threadIdx.x == 5) out[0] = word;  // @read
}
