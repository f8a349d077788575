#include "reference/machine/hazard/kernels/primitives.cuh"

// Thirteen of sixteen rows are loaded; ldmatrix and mma take all sixteen, as they must. Rows 13 to
// 15 of the product are uninitialised then, and no others: fine as long as they are not stored.
extern "C" __global__ void tail_row_stored(const unsigned* x, float* out) {
  __shared__ alignas(16) unsigned tile[16][8];
  constexpr unsigned kRows = 13;
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < 8 * kRows; i += 32) tile[i / 8][i % 8] = x[i] & 0x3c003c00u;
  __syncwarp();
  unsigned a[4];
  load_matrices(a, &tile[threadIdx.x % 16][threadIdx.x / 16 * 4]);  // @load
  const unsigned b[2] = {0x3c003c00u, 0x3c003c00u};
  float d[4];
  multiply(d, a, b);
  const unsigned row = threadIdx.x / 4;
  const unsigned column = threadIdx.x % 4 * 2;
  out[8 * row + column] = d[0];
  out[8 * row + column + 1] = d[1];
#ifdef RIGHT
  const bool stored = row + 8 < kRows;
#else
  const bool stored = row + 8 <= kRows;
#endif
  if (stored) out[8 * (row + 8) + column] = d[2];  // @store
}
