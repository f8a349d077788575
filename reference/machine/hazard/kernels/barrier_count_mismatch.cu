#include "reference/machine/hazard/kernels/primitives.cuh"

// Two warps at one barrier, with two ideas of how many are to come. Where the counts agree they may
// come by different instructions.
extern "C" __global__ void barrier_count_mismatch(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // @of_64
  } else {
#ifdef RIGHT
    asm volatile("bar.sync 1, 64;" ::: "memory");
#else
    asm volatile("bar.sync 1, 32;" ::: "memory");  // @of_32
#endif
  }
  out[threadIdx.x] = s[threadIdx.x];
}
