#include "reference/machine/hazard/kernels/primitives.cuh"

// All blocks wait for the last one. With 200000 bytes of shared memory a multiprocessor holds one
// block: of 133 the last cannot start on 132 of them.
extern "C" __global__ void block_not_resident(const unsigned* x, unsigned* out, unsigned* flag) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == gridDim.x - 1) {
    store_release(flag, 1);
    out[0] = x[0];
  } else {
    while (load_acquire(flag) == 0) {  // @spin
    }
  }
}
