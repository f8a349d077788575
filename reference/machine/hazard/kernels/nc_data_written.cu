#include "reference/machine/hazard/kernels/primitives.cuh"

// ld.global.nc is for data that nothing writes while the kernel runs.
extern "C" __global__ void nc_data_written(const unsigned* x, unsigned* out, unsigned* work) {
  work[threadIdx.x] = x[threadIdx.x];  // @write
  __syncthreads();
#ifdef RIGHT
  out[threadIdx.x] = work[threadIdx.x ^ 32];
#else
  out[threadIdx.x] = __ldg(&work[threadIdx.x ^ 32]);  // @read
#endif
}
