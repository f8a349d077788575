#include "reference/machine/hazard/kernels/primitives.cuh"

__device__ inline void exit_above(unsigned limit, unsigned v) {
  asm volatile("{\n.reg .pred p;\nsetp.gt.u32 p, %0, %1;\n@p exit;\n}" ::"r"(v), "r"(limit)
               : "memory");
}

extern "C" __global__ void taint_exit_guard(const unsigned* x, unsigned* out) {
  const unsigned v = x[threadIdx.x];
  exit_above(500, v);  // @sink
  out[threadIdx.x] = 1;
}
