#include "primitives.cuh"

extern "C" __global__ void taint_memory_guard(const unsigned* x, unsigned* out) {
  asm volatile(  // @sink
      "{\n.reg .pred p;\nsetp.gt.u32 p, %0, 500;\n@p st.global.u32 [%1], %0;\n}" ::"r"(
          x[threadIdx.x]),
      "l"(&out[threadIdx.x])
      : "memory");
}
