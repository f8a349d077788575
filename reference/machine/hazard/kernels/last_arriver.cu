#include "reference/machine/hazard/kernels/primitives.cuh"

// The block that arrives last adds all partial sums in a fixed order. Every thread fences what it
// wrote, one counts: right only because fences of all threads are ordered among each other.
extern "C" __global__ void last_arriver(const unsigned* x, unsigned* out, unsigned* partial,
                                        unsigned* count) {
  __shared__ unsigned arrived;
  partial[64 * blockIdx.x + threadIdx.x] = x[64 * blockIdx.x + threadIdx.x] * 3;  // @write
#ifdef RIGHT
  __threadfence();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    arrived = atomicAdd(count, 1);
    __threadfence();
  }
  __syncthreads();
  if (arrived != gridDim.x - 1) return;
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned block = 0; block < gridDim.x; ++block) {
    sum = sum * 5 + partial[64 * block + threadIdx.x];  // @sum
  }
  out[threadIdx.x] = sum;
}
