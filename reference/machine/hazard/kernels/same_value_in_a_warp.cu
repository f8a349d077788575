#include "reference/machine/hazard/kernels/primitives.cuh"

// All lanes write one word in one instruction.
extern "C" __global__ void same_value_in_a_warp(const unsigned* x, unsigned* out) {
#ifdef RIGHT
  if (threadIdx.x != 0) return;
#endif
  out[0] = x[0] + 1;  // @write
}
