#include "reference/machine/hazard/kernels/primitives.cuh"

// Odd and even lanes come to the barrier by different instructions: bar.sync is .aligned and must
// not, barrier.sync may.
extern "C" __global__ void divergent_bar_sync(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
  if (threadIdx.x % 2 == 0) {
    s[threadIdx.x] = x[threadIdx.x];
#ifdef RIGHT
    asm volatile("barrier.sync 1, 64;" ::: "memory");
#else
    asm volatile("bar.sync 1, 64;" ::: "memory");  // @even
#endif
    out[threadIdx.x] = s[threadIdx.x ^ 1];
  } else {
    s[threadIdx.x] = x[threadIdx.x] * 3;
#ifdef RIGHT
    asm volatile("barrier.sync 1, 64;" ::: "memory");
#else
    asm volatile("bar.sync 1, 64;" ::: "memory");  // @odd
#endif
    out[threadIdx.x] = s[threadIdx.x ^ 1] + 1;
  }
}
