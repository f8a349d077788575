#include "reference/machine/hazard/kernels/primitives.cuh"

// The lock is reset by the kernel itself, which does not keep the owner from seeing its state from
// before (field bug B33). Right: the lock is zero before the launch.
extern "C" __global__ void stream_k_stale_lock(const unsigned* x, unsigned* out, unsigned* partial,
                                               unsigned* lock) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      while (load_acquire(lock) == 0) {
      }
    }
    __syncthreads();
    out[threadIdx.x] = x[threadIdx.x] + partial[threadIdx.x];  // @read
  } else {
    if (threadIdx.x == 0) store_relaxed(lock, 0);
    partial[threadIdx.x] = x[64 + threadIdx.x];  // @write
    __syncthreads();
    if (threadIdx.x == 0) store_release(lock, 1);
  }
}
