#include "reference/machine/hazard/kernels/primitives.cuh"

// The lock is given back by a relaxed store: the critical section may end after it.
extern "C" __global__ void lock_without_release(const unsigned* x, unsigned* out, unsigned* lock) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  out[0] = 4 * x[blockIdx.x] + blockIdx.x;  // @critical
#ifdef RIGHT
  __threadfence();
#endif
  atomicExch(lock, 0);
}
