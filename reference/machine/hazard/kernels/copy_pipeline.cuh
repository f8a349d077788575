#include "reference/machine/hazard/kernels/primitives.cuh"

// A pipeline of asynchronous copies in STAGES slots: STAGES - 1 tiles are on their way while one is
// read. Every thread reads the word that it copied itself, so that its own wait is all it needs:
// when tile i is read, STAGES - 1 groups have been committed after the ones that may still be
// pending, STAGES - 2 of them.
extern "C" __global__ void KERNEL(const unsigned* x, unsigned* out) {
  __shared__ unsigned slot[STAGES][32];
  constexpr unsigned kTiles = 6;
#pragma unroll 1
  for (unsigned i = 0; i < STAGES - 1; ++i) {
    copy_async<4>(&slot[i][threadIdx.x], &x[32 * i + threadIdx.x]);  // @copy
    commit_group();
  }
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned i = 0; i < kTiles; ++i) {
#ifdef RIGHT
    wait_group<STAGES - 2>();
#else
    wait_group<PENDING>();
#endif
    sum = sum * 3 + slot[i % STAGES][threadIdx.x];  // @read
    const unsigned next = i + STAGES - 1;
    if (next < kTiles) {
      copy_async<4>(&slot[next % STAGES][threadIdx.x], &x[32 * next + threadIdx.x]);  // @copy
    }
    commit_group();
  }
  out[threadIdx.x] = sum;
}
