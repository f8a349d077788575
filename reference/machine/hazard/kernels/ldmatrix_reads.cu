#include "reference/machine/hazard/kernels/primitives.cuh"

// ldmatrix reads what other lanes wrote.
extern "C" __global__ void ldmatrix_reads(const unsigned* x, unsigned* out) {
  __shared__ alignas(16) unsigned matrix[32];
  matrix[31 - threadIdx.x] = x[threadIdx.x];  // @write
#ifdef RIGHT
  __syncwarp();
#endif
  out[threadIdx.x] = load_matrix(&matrix[threadIdx.x % 8 * 4]);  // @load
}
