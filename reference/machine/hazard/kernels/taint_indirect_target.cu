#include "primitives.cuh"

extern "C" __global__ void taint_indirect_target(const unsigned* x, unsigned* out) {
  unsigned v;
  asm volatile(  // @sink
      "{\nTARGETS: .branchtargets FIRST, SECOND;\nbrx.idx %1, TARGETS;\nFIRST: mov.u32 %0, 3;\n"
      "bra.uni DONE;\nSECOND: mov.u32 %0, 4;\nDONE:\n}"
      : "=r"(v)
      : "r"(x[threadIdx.x] % 2));
  out[threadIdx.x] = v;
}
