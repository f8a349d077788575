// Packed byte and halfword arithmetic: the SIMD intrinsics of the CUDA headers.

extern "C" __global__ void video_simd(const unsigned* x, unsigned* out) {
  const unsigned t = threadIdx.x;
  const unsigned a = x[3 * t], b = x[3 * t + 1], c = x[3 * t + 2];
  unsigned* o = out + t * 28;
  o[0] = __vadd2(a, b);
  o[1] = __vadd4(a, b);
  o[2] = __vaddss2(a, b);
  o[3] = __vaddus4(a, b);
  o[4] = __vsub4(a, b);
  o[5] = __vsubss4(a, b);
  o[6] = __vsubus2(a, b);
  o[7] = __vabsdiffu4(a, b);
  o[8] = __vabsdiffs2(a, b);
  o[9] = __vavgu4(a, b);
  o[10] = __vavgs2(a, b);
  o[11] = __vmaxs2(a, b);
  o[12] = __vmaxu4(a, b);
  o[13] = __vmins4(a, b);
  o[14] = __vminu2(a, b);
  o[15] = __vcmpeq4(a, b & c);
  o[16] = __vcmpgts2(a, b);
  o[17] = __vcmpleu4(a, b);
  o[18] = __vsetltu2(a, b);
  o[19] = __vsads4(a, b);
  o[20] = __vsadu2(a, b);
  o[21] = __vneg4(a);
  o[22] = __vabsss2(a);
  o[23] = __vhaddu4(a, b);
  o[24] = __viaddmax_s32(a, b, c);
  o[25] = __viaddmin_s16x2_relu(a, b, c);
  o[26] = __vimax3_u16x2(a, b, c);
  bool first = false;
  o[27] = __vibmin_s32(a, b, &first);
  o[27] += first ? 1 : 0;
}
