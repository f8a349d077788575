#include "reference/machine/hazard/kernels/primitives.cuh"

// A vector load from a base that is aligned for one element.
extern "C" __global__ void misaligned_vector(const unsigned* x, unsigned* out) {
#ifdef RIGHT
  const uint4 v = *reinterpret_cast<const uint4*>(x + 4 * threadIdx.x + 4);
#else
  const uint4 v = *reinterpret_cast<const uint4*>(x + 4 * threadIdx.x + 1);  // @load
#endif
  out[threadIdx.x] = v.x ^ v.y ^ v.z ^ v.w;
}
