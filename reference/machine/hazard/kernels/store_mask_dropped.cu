#include "reference/machine/hazard/kernels/primitives.cuh"

// Two rows of 40 columns in tiles of 32: the overhang of a row's last tile lands on the row below,
// which another block owns (field bug B06).
extern "C" __global__ void store_mask_dropped(const unsigned* x, unsigned* out) {
  constexpr unsigned kColumns = 40;
  const unsigned column = 32 * blockIdx.x + threadIdx.x;
  const unsigned value = 4 * x[64 * blockIdx.y + column] + 2 * blockIdx.y + blockIdx.x;
#ifdef RIGHT
  if (column < kColumns)
#endif
    out[kColumns * blockIdx.y + column] = value;  // @store
}
