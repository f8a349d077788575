#include "reference/machine/hazard/kernels/primitives.cuh"

// An operand is overwritten by the asynchronous copy of the next iteration while another warp reads
// it: one iteration never shows it (field bug B39, the loop).
extern "C" __global__ void loop_back_without_barrier(const unsigned* x, unsigned* out) {
  __shared__ unsigned operand[64];
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned i = 0; i < 3; ++i) {
    copy_async<4>(&operand[threadIdx.x], &x[64 * i + threadIdx.x]);  // @copy
    commit_group();
    wait_group<0>();
    __syncthreads();
    sum += operand[threadIdx.x ^ 32];  // @read
#ifdef RIGHT
    __syncthreads();
#endif
  }
  out[threadIdx.x] = sum;
}
