#include "reference/machine/hazard/kernels/primitives.cuh"

// A relaxed load that a store races with, as an output. Right: as the exit test of its own loop.
extern "C" __global__ void taint_relaxed_load(const unsigned* x, unsigned* out, unsigned* flag) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    store_relaxed(flag, 1);
  } else {
#ifdef RIGHT
    while (load_relaxed(flag) == 0) {
    }
    out[0] = x[0];
#else
    out[0] = load_relaxed(flag) + x[0];  // @sink
#endif
  }
}
