// Scalar video instructions with selectors, saturation and a secondary operation.

extern "C" __global__ void video_scalar(const unsigned* x, unsigned* out) {
  const unsigned t = threadIdx.x;
  const unsigned a = x[3 * t], b = x[3 * t + 1], c = x[3 * t + 2];
  unsigned* o = out + t * 14;
  unsigned d;
#define VIDEO(i, text)                                        \
  asm(text : "=r"(d) : "r"(a), "r"(b), "r"(c));               \
  o[i] = d;
  VIDEO(0, "vadd.s32.s32.s32.sat %0, %1.b0, %2.h1;")
  VIDEO(1, "vadd.u32.u32.u32.add %0, %1, %2.b3, %3;")
  VIDEO(2, "vsub.s32.u32.s32 %0, %1.h0, %2.b1;")
  VIDEO(3, "vsub.s32.s32.s32.sat.max %0, %1, %2, %3;")
  VIDEO(4, "vabsdiff.u32.u32.u32.add %0, %1.b1, %2.b2, %3;")
  VIDEO(5, "vabsdiff.s32.s32.s32 %0, %1.h1, %2.h0;")
  VIDEO(6, "vmin.s32.s32.s32.min %0, %1, %2.b0, %3;")
  VIDEO(7, "vmax.u32.u32.s32 %0, %1.h1, %2.h1;")
  VIDEO(8, "vshl.u32.u32.u32.wrap %0, %1, %2;")
  VIDEO(9, "vshr.s32.u32.u32.clamp.add %0, %1, %2.b0, %3;")
  VIDEO(10, "vmad.s32.s32.s32 %0, %1.b2, %2.h0, %3;")
  VIDEO(11, "vmad.u32.u32.u32.shr7 %0, %1.h0, %2.h1, %3;")
  VIDEO(12, "vset.s32.s32.lt %0, %1, %2;")
  VIDEO(13, "vset.u32.s32.ge.add %0, %1.b0, %2.b0, %3;")
}
