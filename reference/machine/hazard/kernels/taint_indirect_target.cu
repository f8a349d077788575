#include "reference/machine/hazard/kernels/primitives.cuh"

__device__ inline unsigned choose(unsigned target) {
  unsigned v;
  asm volatile(
      "{\nTARGETS: .branchtargets FIRST, SECOND;\nbrx.idx %1, TARGETS;\nFIRST: mov.u32 %0, 3;\n"
      "bra.uni DONE;\nSECOND: mov.u32 %0, 4;\nDONE:\n}"
      : "=r"(v)
      : "r"(target));
  return v;
}

extern "C" __global__ void taint_indirect_target(const unsigned* x, unsigned* out) {
  const unsigned target = x[threadIdx.x] % 2;
  const unsigned v = choose(target);  // @sink
  out[threadIdx.x] = v;
}
