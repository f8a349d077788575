#include "reference/machine/hazard/kernels/primitives.cuh"

// The matrix that is loaded was written before a barrier; the other words were not.
extern "C" __global__ void ldmatrix_is_no_fence(const unsigned* x, unsigned* out) {
  __shared__ alignas(16) unsigned matrix[32];
  __shared__ unsigned s[32];
  matrix[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  s[threadIdx.x] = x[32 + threadIdx.x];  // @write
  const unsigned fragment = load_matrix(&matrix[threadIdx.x % 8 * 4]);
#ifdef RIGHT
  __syncwarp();
#endif
  out[threadIdx.x] = fragment + s[threadIdx.x ^ 1];  // @read
}
