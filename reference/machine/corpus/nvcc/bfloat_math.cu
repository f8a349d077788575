// bf16 arithmetic, scalar and packed.
#include <cuda_bf16.h>

extern "C" __global__ void bfloat_math(const __nv_bfloat16* x, __nv_bfloat16* out) {
  const unsigned t = threadIdx.x;
  const __nv_bfloat16 a = x[3 * t], b = x[3 * t + 1], c = x[3 * t + 2];
  const __nv_bfloat162 p = __halves2bfloat162(a, b), q = __halves2bfloat162(b, c);
  __nv_bfloat16* o = out + t * 20;
  o[0] = __hadd_rn(a, b);
  o[1] = __hsub_rn(a, b);
  o[2] = __hmul_rn(a, b);
  o[3] = __hfma(a, b, c);
  o[4] = __hmin(a, b);
  o[5] = __hmax(a, b);
  o[6] = __hmax_nan(a, c);
  o[7] = __hneg(a);
  o[8] = __habs(b);
  o[9] = __hfma_relu(a, b, c);
  o[10] = __hle(a, b) ? c : a;
  o[11] = __float2bfloat16_rn(__bfloat162float(a) / 3.0f);
  auto put = [&](int i, __nv_bfloat162 v) {
    o[i] = __low2bfloat16(v);
    o[i + 1] = __high2bfloat16(v);
  };
  put(12, __hadd2_rn(p, q));
  put(14, __hfma2(p, q, p));
  put(16, __hmin2(p, q));
  put(18, __floats2bfloat162_rn(__bfloat162float(a) * 1.5f, __bfloat162float(b) - 0.125f));
}
