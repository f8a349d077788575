#include "reference/machine/hazard/kernels/primitives.cuh"

// A matrix product has all lanes meet, and orders no memory.
extern "C" __global__ void mma_is_no_fence(const unsigned* x, float* out) {
  __shared__ float s[32];
  const unsigned v = x[threadIdx.x];
  const unsigned a[4] = {v, v, v, v};
  const unsigned b[2] = {v, v};
  float d[4];
  s[threadIdx.x] = static_cast<float>(v);  // @write
  multiply(d, a, b);
#ifdef RIGHT
  __syncwarp();
#endif
  out[threadIdx.x] = d[0] + s[threadIdx.x ^ 1];  // @read
}
