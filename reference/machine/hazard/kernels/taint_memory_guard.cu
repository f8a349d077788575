#include "reference/machine/hazard/kernels/primitives.cuh"

__device__ inline void store_above(unsigned limit, unsigned* place, unsigned v) {
  asm volatile("{\n.reg .pred p;\nsetp.gt.u32 p, %0, %1;\n@p st.global.u32 [%2], %0;\n}" ::"r"(v),
               "r"(limit), "l"(place)
               : "memory");
}

extern "C" __global__ void taint_memory_guard(const unsigned* x, unsigned* out) {
  const unsigned v = x[threadIdx.x];
  store_above(500, &out[threadIdx.x], v);  // @sink
}
