#include "reference/machine/hazard/kernels/primitives.cuh"

// One row of four is never written.
extern "C" __global__ void output_row_unwritten(const unsigned* x, unsigned* out) {
#ifdef RIGHT
  constexpr unsigned kRows = 4;
#else
  constexpr unsigned kRows = 3;
#endif
#pragma unroll 1
  for (unsigned row = 0; row < kRows; ++row) {
    out[64 * row + threadIdx.x] = x[64 * row + threadIdx.x];
  }
}
