#include "primitives.cuh"

// All threads have the same predicate, which is true.
extern "C" __global__ void taint_barrier_guard(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
  s[threadIdx.x] = x[threadIdx.x];
  asm volatile(  // @sink
      "{\n.reg .pred p;\nsetp.lt.u32 p, %0, 5000;\n@p bar.sync 0;\n}" ::"r"(x[0])
      : "memory");
  out[threadIdx.x] = s[63 - threadIdx.x];
}
