#include "reference/machine/hazard/kernels/primitives.cuh"

// What block 0 released, block 2 acquires through block 1: a read-modify-write passes it on,
// relaxed or not; a plain store does not.
extern "C" __global__ void release_sequence_broken(const unsigned* x, unsigned* out, unsigned* data,
                                                   unsigned* flag) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = x[0];  // @write
    store_release(flag, 1);
  } else if (blockIdx.x == 1) {
    while (load_relaxed(flag) != 1) {
    }
#ifdef RIGHT
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
#else
    store_relaxed(flag, 2);
#endif
  } else {
    while (load_acquire(flag) != 2) {
    }
    out[0] = *data;  // @read
  }
}
