// target: compute_90
// bf16 and f16 in compute_90's own instructions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void hopper_bfloat(const __nv_bfloat16* x, unsigned short* out) {
  const unsigned t = threadIdx.x;
  const __nv_bfloat16 a = x[3 * t], b = x[3 * t + 1], c = x[3 * t + 2];
  unsigned short* o = out + 12 * t;
  o[0] = __bfloat16_as_ushort(__hadd_rn(a, b));
  o[1] = __bfloat16_as_ushort(__hmul_rn(a, b));
  o[2] = __bfloat16_as_ushort(__hsub_rn(a, b));
  o[3] = __bfloat16_as_ushort(__hfma(a, b, c));
  o[4] = static_cast<unsigned short>(__bfloat162int_rz(a));
  o[5] = static_cast<unsigned short>(__bfloat162ushort_rn(b));
  o[6] = __bfloat16_as_ushort(__int2bfloat16_rn(static_cast<int>(t) * 77777));
  o[7] = __bfloat16_as_ushort(__ull2bfloat16_rz(t * 123456789ull));
  o[8] = static_cast<unsigned short>(__hlt(a, b) + 2 * __hne(b, c) + 4 * __hgeu(a, c));
  o[9] = __bfloat16_as_ushort(hfloor(a));
  o[10] = __bfloat16_as_ushort(__hmax(__hneg(a), c));
  o[11] = __half_as_ushort(__float2half_rn(__bfloat162float(c)));
}
