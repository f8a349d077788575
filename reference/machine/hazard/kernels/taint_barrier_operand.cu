#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void taint_barrier_operand(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[64];
  s[threadIdx.x] = threadIdx.x;
  bar_sync(static_cast<int>(1 + x[0] % 2), 64);  // @sink
  out[threadIdx.x] = s[63 - threadIdx.x];
}
