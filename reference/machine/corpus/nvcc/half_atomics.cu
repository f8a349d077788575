// f16 and bf16 atomic sums of whole numbers, packed too: exact in any order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half_atomics(const unsigned char* x, __half2* h, __nv_bfloat162* b) {
  const int v = x[threadIdx.x] & 3;
  const __half low = __int2half_rn(v);
  atomicAdd(h, __halves2half2(low, __float2half_rn(1.0f)));
  atomicAdd(reinterpret_cast<__half*>(h + 1), low);
  const __nv_bfloat16 small = __float2bfloat16_rn(static_cast<float>(v));
  atomicAdd(b, __halves2bfloat162(small, __float2bfloat16_rn(2.0f)));
  atomicAdd(reinterpret_cast<__nv_bfloat16*>(b + 1), small);
}
