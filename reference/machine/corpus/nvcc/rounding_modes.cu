// f32 in all four roundings, on wide exponents and every kind of bit pattern.

extern "C" __global__ void rounding_modes(const float* x, float* out) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  const float a = x[3 * t], b = x[3 * t + 1], c = x[3 * t + 2];
  float* o = out + t * 24;
  o[0] = __fadd_rn(a, b);
  o[1] = __fadd_rz(a, b);
  o[2] = __fadd_ru(a, b);
  o[3] = __fadd_rd(a, b);
  o[4] = __fmul_rn(a, b);
  o[5] = __fmul_rz(a, b);
  o[6] = __fmul_ru(a, b);
  o[7] = __fmul_rd(a, b);
  o[8] = __fmaf_rn(a, b, c);
  o[9] = __fmaf_rz(a, b, c);
  o[10] = __fmaf_ru(a, b, c);
  o[11] = __fmaf_rd(a, b, c);
  o[12] = __fdiv_rn(a, b);
  o[13] = __fdiv_rz(a, b);
  o[14] = __fdiv_ru(a, b);
  o[15] = __fdiv_rd(a, b);
  o[16] = __frcp_rn(a);
  o[17] = __frcp_ru(a);
  o[18] = __fsqrt_rn(fabsf(a));
  o[19] = __fsqrt_rz(fabsf(b));
  o[20] = fminf(a, b);
  o[21] = fmaxf(a, b);
  o[22] = __saturatef(a);
  o[23] = __fsub_rn(a, c);
}
