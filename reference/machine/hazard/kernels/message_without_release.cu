#include "reference/machine/hazard/kernels/primitives.cuh"

// One block hands words to another through a flag: by relaxed accesses, in the defect.
extern "C" __global__ void message_without_release(const unsigned* x, unsigned* out, unsigned* data,
                                                   unsigned* flag) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = x[threadIdx.x];  // @write
    __syncwarp();
    if (threadIdx.x == 0) {
#ifdef RIGHT
      store_release(flag, 1);
#else
      store_relaxed(flag, 1);
#endif
    }
  } else {
    if (threadIdx.x == 0) {
      while (load_acquire(flag) == 0) {
      }
    }
    __syncwarp();
    out[threadIdx.x] = data[threadIdx.x ^ 1];  // @read
  }
}
