#include "reference/machine/hazard/kernels/primitives.cuh"

// One element of A is uninitialised in every row and meets a row of B that is zero. Zero times that
// is still no number to rely on. Right: it is replaced by zero first.
extern "C" __global__ void zero_times_uninitialised(const unsigned* x, float* out) {
  const unsigned nothing = uninitialised();
  const bool last = threadIdx.x % 4 == 3;
  const unsigned one = x[threadIdx.x] & 0x3c003c00u;
#ifdef RIGHT
  const unsigned upper = last ? 0u : one;
  asm volatile("" ::"r"(nothing));
#else
  const unsigned upper = last ? nothing : one;
#endif
  const unsigned a[4] = {one, one, upper, upper};
  const unsigned b[2] = {0x3c003c00u, last ? 0u : 0x3c003c00u};
  float d[4];
  multiply(d, a, b);
  out[threadIdx.x] = d[0] + d[3];  // @store
}
