#include "reference/machine/hazard/kernels/primitives.cuh"

// 60 words for 64 threads: the store of the tail is masked, the load is not, and its value is
// discarded.
extern "C" __global__ void tail_load(const unsigned* x, unsigned* out) {
  unsigned v = 0;
#ifdef RIGHT
  if (threadIdx.x < 60)
#endif
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(&x[threadIdx.x]));  // @load
  if (threadIdx.x < 60) out[threadIdx.x] = v;
}
