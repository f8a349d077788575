#include "reference/machine/hazard/kernels/primitives.cuh"

// The mask of a shuffle from memory that nobody wrote: all ones, by luck.
extern "C" __global__ void uninitialised_mask(const unsigned* x, unsigned* out,
                                              const unsigned* masks) {
  const unsigned mask = masks[0];                               // @read
  out[threadIdx.x] = __shfl_xor_sync(mask, x[threadIdx.x], 1);  // @shuffle
}
