#include "reference/machine/hazard/kernels/primitives.cuh"

// Two launches with one lock. In the second the owner finds the lock as the first left it, and adds
// a partial sum that is being written. Right: each launch waits for a number of its own.
extern "C" __global__ void lock_reused(const unsigned* x, unsigned* out, unsigned* partial,
                                       unsigned* lock, unsigned launch) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
#ifdef RIGHT
      while (load_acquire(lock) != launch) {
      }
#else
      while (load_acquire(lock) == 0) {
      }
#endif
    }
    __syncthreads();
    out[threadIdx.x] = x[threadIdx.x] + partial[threadIdx.x];  // @read
  } else {
    partial[threadIdx.x] = x[64 + threadIdx.x] * launch;  // @write
    __syncthreads();
    if (threadIdx.x == 0) store_release(lock, launch);
  }
}
