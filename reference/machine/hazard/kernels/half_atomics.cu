#include "reference/machine/hazard/kernels/primitives.cuh"

// Partial sums added in 16 bits, in the order of arrival (field bug B25).
extern "C" __global__ void half_atomics(const unsigned* x, unsigned short* out) {
  const float v = static_cast<float>(x[32 * blockIdx.x + threadIdx.x]) * 0.1F;
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
  asm volatile("red.global.add.noftz.f16 [%0], %1;" ::"l"(out + threadIdx.x), "h"(bits)  // @add
               : "memory");
}
