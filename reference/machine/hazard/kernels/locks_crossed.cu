#include "reference/machine/hazard/kernels/primitives.cuh"

// Two blocks take two locks in opposite orders, each after the other has taken its first.
extern "C" __global__ void locks_crossed(const unsigned* x, unsigned* out, unsigned* locks,
                                         unsigned* held) {
  if (threadIdx.x != 0) return;
#ifdef RIGHT
  const unsigned first = 0;
#else
  const unsigned first = blockIdx.x;
#endif
  while (atomicCAS(&locks[first], 0, 1) != 0) {
  }
  __threadfence();
#ifndef RIGHT
  store_release(&held[first], 1);
  while (load_acquire(&held[1 - first]) == 0) {
  }
#endif
  while (atomicCAS(&locks[1 - first], 0, 1) != 0) {  // @second
  }
  __threadfence();
  out[0] = x[blockIdx.x];
  __threadfence();
  atomicExch(&locks[1 - first], 0);
  atomicExch(&locks[first], 0);
}
