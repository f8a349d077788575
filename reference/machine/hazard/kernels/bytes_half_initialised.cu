#include "reference/machine/hazard/kernels/primitives.cuh"

// Validity in memory is a byte's: two bytes of a word were written.
extern "C" __global__ void bytes_half_initialised(const unsigned* x, unsigned* out) {
  __shared__ alignas(4) unsigned short halves[64];
  halves[2 * threadIdx.x] = static_cast<unsigned short>(x[threadIdx.x]);
  const unsigned word = *reinterpret_cast<const unsigned*>(&halves[2 * threadIdx.x]);  // @read
#ifdef RIGHT
  out[threadIdx.x] = word & 0xffffu;
#else
  out[threadIdx.x] = word & 0x1ffffu;  // @store
#endif
}
