// The approximate instructions: PTX does not fix their bits.

extern "C" __global__ void approximations(const float* x, float* out) {
  const int t = threadIdx.x;
  const float a = x[t];
  float* o = out + 12 * t;
  o[0] = __sinf(a);
  o[1] = __cosf(a);
  o[2] = __expf(a);
  o[3] = __logf(a + 8.0f);
  o[4] = __powf(a + 8.0f, 0.3f);
  o[5] = __fdividef(a, 3.0f);
  o[6] = rsqrtf(a + 8.0f);
  o[7] = __tanf(a);
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
  o[8] = r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  o[9] = r;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(a + 8.0f));
  o[10] = r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a + 8.0f));
  o[11] = r;
}
