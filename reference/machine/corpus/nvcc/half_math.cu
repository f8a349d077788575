// f16 arithmetic, scalar and packed, with the intrinsics that are not contracted.
#include <cuda_fp16.h>

extern "C" __global__ void half_math(const __half* x, __half* out) {
  const unsigned t = threadIdx.x;
  const __half a = x[3 * t], b = x[3 * t + 1], c = x[3 * t + 2];
  const __half2 p = __halves2half2(a, b), q = __halves2half2(b, c), r = __halves2half2(c, a);
  __half* o = out + t * 32;
  o[0] = __hadd_rn(a, b);
  o[1] = __hsub_rn(a, b);
  o[2] = __hmul_rn(a, b);
  o[3] = __hfma(a, b, c);
  o[4] = __hfma_sat(a, b, c);
  o[5] = __hadd_sat(a, b);
  o[6] = __hmin(a, b);
  o[7] = __hmax(a, b);
  o[8] = __hmin_nan(a, b);
  o[9] = __hmax_nan(a, b);
  o[10] = __hneg(a);
  o[11] = __habs(a);
  o[12] = __hfma_relu(a, b, c);
  o[13] = __hlt(a, b) ? c : a;
  o[14] = __hgeu(a, b) ? b : c;
  o[15] = __float2half_rn(__half2float(a) * 3.0f);
  auto put = [&](int i, __half2 v) {
    o[i] = __low2half(v);
    o[i + 1] = __high2half(v);
  };
  put(16, __hadd2_rn(p, q));
  put(18, __hmul2_rn(p, q));
  put(20, __hfma2(p, q, r));
  put(22, __hmin2(p, q));
  put(24, __hmax2(p, q));
  put(26, __hneg2(p));
  put(28, __hgt2(p, q));
  put(30, __hsub2_sat(p, q));
}
