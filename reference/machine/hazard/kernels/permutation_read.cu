#include "reference/machine/hazard/kernels/primitives.cuh"

// Without act-order the permutation is allocated and never filled. It may be passed, and not read.
extern "C" __global__ void permutation_read(const unsigned* x, unsigned* out, const unsigned* order,
                                            unsigned act_order) {
  unsigned k = threadIdx.x;
  if (act_order != 0) k = order[threadIdx.x] % 1024;  // @order
  out[threadIdx.x] = x[k];                            // @gather
}
