#include "reference/machine/hazard/kernels/primitives.cuh"

// atomicCAS is relaxed: without a fence behind it the critical section may begin before the lock is
// held.
extern "C" __global__ void lock_without_acquire(const unsigned* x, unsigned* out, unsigned* lock) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
#ifdef RIGHT
  __threadfence();
#endif
  out[0] = 4 * x[blockIdx.x] + blockIdx.x;  // @critical
  __threadfence();
  atomicExch(lock, 0);
}
