#include "reference/machine/hazard/kernels/primitives.cuh"

// The reader takes so long to come that every schedule of a GPU has written before: a race all the
// same, since nothing orders the two.
extern "C" __global__ void late_reader(const unsigned* x, unsigned* out) {
  __shared__ unsigned word;
  if (threadIdx.x == 0) word = x[0];  // @write
#ifdef RIGHT
  __syncthreads();
#endif
  if (threadIdx.x == 63) {
    unsigned n = x[1] + 3;
    unsigned steps = 0;
#pragma unroll 1
    while (steps < 3000) {
      n = n * 1664525u + 1013904223u;
      ++steps;
    }
    out[0] = n + word;  // @read
  }
}
