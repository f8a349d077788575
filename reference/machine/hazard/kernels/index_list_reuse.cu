#include "reference/machine/hazard/kernels/primitives.cuh"

// The first warp lists, for one expert after another, which rows are its own; all warps then follow
// the list. It is rebuilt while some still read it (field bug B28).
extern "C" __global__ void index_list_reuse(const unsigned* x, unsigned* out) {
  __shared__ unsigned rows[32];
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned expert = 0; expert < 3; ++expert) {
    if (threadIdx.x < 32) rows[threadIdx.x] = (threadIdx.x * 7 + expert) % 128;  // @list
    __syncthreads();
    sum += x[rows[threadIdx.x % 32] + threadIdx.x / 32];  // @follow
#ifdef RIGHT
    __syncthreads();
#endif
  }
  out[threadIdx.x] = sum;
}
