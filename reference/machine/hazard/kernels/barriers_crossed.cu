#include "reference/machine/hazard/kernels/primitives.cuh"

// Each warp waits at a barrier for the other, which waits at another.
extern "C" __global__ void barriers_crossed(const unsigned* x, unsigned* out) {
  const int first = threadIdx.x < 32 ? 1 : 2;
#ifdef RIGHT
  bar_sync(1, 64);
  bar_sync(2, 64);
#else
  bar_sync(first, 64);  // @first
  bar_sync(3 - first, 64);
#endif
  out[threadIdx.x] = x[threadIdx.x] + static_cast<unsigned>(first);
}
