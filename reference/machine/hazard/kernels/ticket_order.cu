#include "reference/machine/hazard/kernels/primitives.cuh"

// Blocks add to a running sum in the order of their numbers, each waiting for its turn.
extern "C" __global__ void ticket_order(const unsigned* x, float* out, float* sums,
                                        unsigned* turn) {
  if (threadIdx.x == 0) {
    while (load_acquire(turn) != blockIdx.x) {
    }
  }
  __syncwarp();
  float sum = static_cast<float>(x[32 * blockIdx.x + threadIdx.x]) * 0.1F;
  if (blockIdx.x != 0) sum += sums[32 * (blockIdx.x - 1) + threadIdx.x];  // @read
  sums[32 * blockIdx.x + threadIdx.x] = sum;                              // @write
  if (blockIdx.x == gridDim.x - 1) out[threadIdx.x] = sum;
  __syncwarp();
  if (threadIdx.x == 0) {
#ifdef RIGHT
    store_release(turn, blockIdx.x + 1);
#else
    store_relaxed(turn, blockIdx.x + 1);
#endif
  }
}
