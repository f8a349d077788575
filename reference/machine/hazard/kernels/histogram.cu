#include "reference/machine/hazard/kernels/primitives.cuh"

// Integer counts by atomics. In the defect nothing separates their being zeroed from the first
// count.
extern "C" __global__ void histogram(const unsigned* x, unsigned* out) {
  __shared__ unsigned bins[32];
  if (threadIdx.x < 32) bins[threadIdx.x] = 0;  // @zero
#ifdef RIGHT
  __syncthreads();
#endif
#pragma unroll 1
  for (unsigned i = 0; i < 4; ++i) {
    atomicAdd(&bins[x[256 * blockIdx.x + 64 * i + threadIdx.x] % 32], 1);  // @count
  }
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
