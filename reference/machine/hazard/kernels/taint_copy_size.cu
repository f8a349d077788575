#include "reference/machine/hazard/kernels/primitives.cuh"

extern "C" __global__ void taint_copy_size(const unsigned* x, unsigned* out) {
  __shared__ alignas(16) unsigned s[128];
  const int bytes = static_cast<int>(x[threadIdx.x] % 5 * 4);
  copy_async_16(&s[4 * threadIdx.x], &x[4 * threadIdx.x], bytes);  // @sink
  commit_group();
  wait_group<0>();
  out[threadIdx.x] = s[4 * threadIdx.x];
}
