#include "reference/machine/hazard/kernels/primitives.cuh"

// Neighbours write neighbouring bytes of one word, which is no race; one who reads two bytes reads
// the neighbour's.
extern "C" __global__ void byte_granule(const unsigned* x, unsigned* out) {
  __shared__ alignas(4) unsigned char bytes[64];
  bytes[threadIdx.x] = static_cast<unsigned char>(x[threadIdx.x]);  // @write
#ifdef RIGHT
  out[threadIdx.x] = bytes[threadIdx.x] * 3u;
#else
  out[threadIdx.x] = *reinterpret_cast<unsigned short*>(&bytes[threadIdx.x & ~1u]);  // @read
#endif
}
