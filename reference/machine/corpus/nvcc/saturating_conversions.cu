// Saturating conversions between integer widths and from floats.

extern "C" __global__ void saturating_conversions(const int* x, int* out) {
  const unsigned t = threadIdx.x;
  const int a = x[2 * t];
  const long long w = (static_cast<long long>(a) << 32) | static_cast<unsigned>(x[2 * t + 1]);
  const float f = __int_as_float(x[2 * t + 1]);
  int* o = out + t * 12;
  int d;
  asm("cvt.sat.s8.s32 %0, %1;" : "=r"(d) : "r"(a >> (t & 31)));
  o[0] = d;
  asm("cvt.sat.u8.s32 %0, %1;" : "=r"(d) : "r"(a >> (t & 31)));
  o[1] = d;
  asm("cvt.sat.s16.s32 %0, %1;" : "=r"(d) : "r"(a));
  o[2] = d;
  asm("cvt.sat.u32.s32 %0, %1;" : "=r"(d) : "r"(a));
  o[3] = d;
  asm("cvt.sat.s32.u32 %0, %1;" : "=r"(d) : "r"(a));
  o[4] = d;
  asm("cvt.sat.s32.s64 %0, %1;" : "=r"(d) : "l"(w >> (t & 31)));
  o[5] = d;
  asm("cvt.sat.u32.s64 %0, %1;" : "=r"(d) : "l"(w));
  o[6] = d;
  asm("cvt.sat.u8.u64 %0, %1;" : "=r"(d) : "l"(w));
  o[7] = d;
  float g;
  asm("cvt.rn.sat.f32.s32 %0, %1;" : "=f"(g) : "r"(a));
  o[8] = __float_as_int(g);
  asm("cvt.sat.f32.f32 %0, %1;" : "=f"(g) : "f"(f));
  o[9] = __float_as_int(g);
  asm("cvt.ftz.f32.f32 %0, %1;" : "=f"(g) : "f"(__int_as_float(a & 0x807fffff)));
  o[10] = __float_as_int(g);
  asm("cvt.rni.ftz.s32.f32 %0, %1;" : "=r"(d) : "f"(f));
  o[11] = d;
}
