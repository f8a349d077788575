#include "reference/machine/hazard/kernels/primitives.cuh"

// Fences whose scope is the block do not order what two blocks do.
#ifdef RIGHT
#define FENCE __threadfence
#else
#define FENCE __threadfence_block
#endif
extern "C" __global__ void fence_of_the_block(const unsigned* x, unsigned* out, unsigned* data,
                                              unsigned* flag) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = x[0];  // @write
    FENCE();
    store_relaxed(flag, 1);
  } else {
    while (load_relaxed(flag) == 0) {
    }
    FENCE();
    out[0] = *data;  // @read
  }
}
