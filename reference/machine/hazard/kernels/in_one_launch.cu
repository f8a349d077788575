#include "reference/machine/hazard/kernels/primitives.cuh"

// Block b does part `first` + b of the work. Two launches order the two parts, two blocks do not.
extern "C" __global__ void in_one_launch(const unsigned* x, unsigned* out, unsigned* work,
                                         unsigned first, unsigned last) {
  const unsigned part = first + blockIdx.x;
  if (part > last) return;
  if (part == 0) {
    work[threadIdx.x] = x[threadIdx.x];  // @write
  } else {
    out[threadIdx.x] = work[threadIdx.x ^ 1];  // @read
  }
}
