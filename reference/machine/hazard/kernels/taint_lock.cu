#include "reference/machine/hazard/kernels/primitives.cuh"

// A right lock: free of races, and the order in which it is taken is the schedule's. Right: the
// order is fixed, as each waits for its own number.
extern "C" __global__ void taint_lock(const unsigned* x, float* out, unsigned* lock) {
  if (threadIdx.x != 0) return;
#ifdef RIGHT
  while (load_acquire(lock) != blockIdx.x) {
  }
#else
  while (atomicCAS(lock, 0, 1) != 0) {  // @lock
  }
  __threadfence();
#endif
  out[0] += static_cast<float>(x[blockIdx.x]) * 0.1F;
#ifdef RIGHT
  store_release(lock, blockIdx.x + 1);
#else
  __threadfence();
  atomicExch(lock, 0);  // @unlock
#endif
}
