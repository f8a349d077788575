#include "reference/machine/hazard/kernels/primitives.cuh"

// The last copy has 4 bytes to read, not 16. What is not read becomes zero.
extern "C" __global__ void copy_source_size(const unsigned* tail, unsigned* out) {
  __shared__ alignas(16) unsigned s[128];
#ifdef RIGHT
  const int bytes = threadIdx.x == 31 ? 4 : 16;
#else
  const int bytes = 16;
#endif
  copy_async_16(&s[4 * threadIdx.x], &tail[4 * threadIdx.x], bytes);  // @copy
  commit_group();
  wait_group<0>();
  out[threadIdx.x] = s[4 * threadIdx.x + 3];
}
