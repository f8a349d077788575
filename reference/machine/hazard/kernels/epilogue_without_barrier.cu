#include "reference/machine/hazard/kernels/primitives.cuh"

// Each warp leaves its part of the output in shared memory, all store rows of it: before the slow
// warp has written, in the defect (field bug B39, the epilogue).
extern "C" __global__ void epilogue_without_barrier(const unsigned* x, unsigned* out) {
  __shared__ unsigned tile[4][32];
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  tile[warp][lane] = x[threadIdx.x] * 5;  // @write
#ifdef RIGHT
  __syncthreads();
#endif
  out[threadIdx.x] = tile[(warp + 1) % 4][lane];  // @read
}
