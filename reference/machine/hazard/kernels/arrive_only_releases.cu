#include "reference/machine/hazard/kernels/primitives.cuh"

// The first warp's bar.arrive hands its words to the second, and gives it nothing in return.
extern "C" __global__ void arrive_only_releases(const unsigned* x, unsigned* out) {
  __shared__ unsigned a[32];
  __shared__ unsigned b[32];
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    a[lane] = x[lane];
    bar_arrive(1, 64);
#ifdef RIGHT
    bar_sync(2, 64);
#endif
    out[lane] = b[31 - lane];  // @read
  } else {
    b[lane] = x[32 + lane];  // @write
#ifdef RIGHT
    bar_arrive(2, 64);
#endif
    bar_sync(1, 64);
    out[32 + lane] = a[31 - lane];
  }
}
