#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void message_without_acquire(const unsigned* x, unsigned* out, unsigned* data,
                                                   unsigned* flag) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = x[threadIdx.x];  // @write
    __syncwarp();
    if (threadIdx.x == 0) store_release(flag, 1);
  } else {
    if (threadIdx.x == 0) {
#ifdef RIGHT
      while (load_acquire(flag) == 0) {
      }
#else
      while (load_relaxed(flag) == 0) {
      }
#endif
    }
    __syncwarp();
    out[threadIdx.x] = data[threadIdx.x ^ 1];  // @read
  }
}
