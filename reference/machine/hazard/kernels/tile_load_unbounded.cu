#include "reference/machine/hazard/kernels/primitives.cuh"

// A tile of packed weights is copied whole, though K ends within it; only the store is bounded
// (field bug B04).
extern "C" __global__ void tile_load_unbounded(const unsigned* x, unsigned* out) {
  __shared__ alignas(16) unsigned tile[128];
  constexpr unsigned kWords = 120;
#ifdef RIGHT
  if (4 * threadIdx.x < kWords)
#endif
    copy_async<16>(&tile[4 * threadIdx.x], &x[4 * threadIdx.x]);  // @copy
  commit_group();
  wait_group<0>();
  if (4 * threadIdx.x < kWords) out[threadIdx.x] = tile[4 * threadIdx.x + 3];
}
