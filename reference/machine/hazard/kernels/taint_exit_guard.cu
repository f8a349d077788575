#include "primitives.cuh"

extern "C" __global__ void taint_exit_guard(const unsigned* x, unsigned* out) {
  asm volatile(  // @sink
      "{\n.reg .pred p;\nsetp.gt.u32 p, %0, 500;\n@p exit;\n}" ::"r"(x[threadIdx.x])
      : "memory");
  out[threadIdx.x] = 1;
}
