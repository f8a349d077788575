#include "reference/machine/hazard/kernels/primitives.cuh"

__device__ inline void barrier_below(unsigned limit, unsigned v) {
  asm volatile("{\n.reg .pred p;\nsetp.lt.u32 p, %0, %1;\n@p bar.sync 0;\n}" ::"r"(v), "r"(limit)
               : "memory");
}

// All threads have the same predicate, which is true.
extern "C" __global__ void taint_barrier_guard(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
  s[threadIdx.x] = x[threadIdx.x];
  const unsigned v = x[0];
  barrier_below(5000, v);  // @sink
  out[threadIdx.x] = s[63 - threadIdx.x];
}
