#include "reference/machine/hazard/kernels/primitives.cuh"

// The copy of a later tile lands in a slot that another warp still fetches from: the wait and the
// barrier guard the arrival of a tile, none guards the end of its use (field bug B36).
extern "C" __global__ void fill_while_fetching(const unsigned* x, unsigned* out) {
  __shared__ unsigned slot[2][64];
  unsigned sum = 0;
  copy_async<4>(&slot[0][threadIdx.x], &x[threadIdx.x]);
  commit_group();
#pragma unroll 1
  for (unsigned i = 0; i < 4; ++i) {
#ifndef RIGHT
    if (i < 3)
      copy_async<4>(&slot[(i + 1) % 2][threadIdx.x], &x[64 * (i + 1) + threadIdx.x]);  // @fill
    commit_group();
    wait_group<1>();
    __syncthreads();
#else
    wait_group<0>();
    __syncthreads();
    if (i < 3) copy_async<4>(&slot[(i + 1) % 2][threadIdx.x], &x[64 * (i + 1) + threadIdx.x]);
    commit_group();
#endif
    sum += slot[i % 2][threadIdx.x ^ 32];  // @fetch
  }
  out[threadIdx.x] = sum;
}
