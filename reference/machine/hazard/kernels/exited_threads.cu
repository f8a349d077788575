#include "reference/machine/hazard/kernels/primitives.cuh"

// The second warp has gone. That satisfies a barrier without a count, and not one with a count (a
// GPU hangs there).
extern "C" __global__ void exited_threads(const unsigned* x, unsigned* out) {
  if (threadIdx.x >= 32) return;
#ifdef RIGHT
  asm volatile("bar.sync 1;" ::: "memory");
#else
  asm volatile("bar.sync 1, 64;" ::: "memory");  // @barrier
#endif
  out[threadIdx.x] = x[threadIdx.x];
}
