// Rotary position embedding of f16 heads with tables of cosines and sines.
#include <cuda_fp16.h>

extern "C" __global__ void rotary_embedding(__half2* q, const float2* table, int pairs) {
  const int position = blockIdx.x, head = blockIdx.y, i = threadIdx.x;
  if (i >= pairs) return;
  __half2& slot = q[(position * gridDim.y + head) * pairs + i];
  const float2 v = __half22float2(slot), r = table[position * pairs + i];
  slot = __floats2half2_rn(__fmaf_rn(v.x, r.x, -__fmul_rn(v.y, r.y)), __fmaf_rn(v.x, r.y, __fmul_rn(v.y, r.x)));
}
