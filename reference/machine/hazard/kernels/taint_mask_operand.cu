#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void taint_mask_operand(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp(x[0] > 5000 ? 1u : 0xffffffffu);  // @sink
  out[threadIdx.x] = s[31 - threadIdx.x];
}
