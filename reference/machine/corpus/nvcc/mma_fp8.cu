// target: compute_90
// e4m3 and e5m2 products with f32 sums.

extern "C" __global__ void mma_fp8(const unsigned* a, const unsigned* b, float* c) {
  const unsigned t = threadIdx.x;
  unsigned f[4], g[2];
  for (int i = 0; i < 4; ++i) f[i] = a[t * 4 + i] & 0xbfbfbfbfu;
  for (int i = 0; i < 2; ++i) g[i] = b[t * 2 + i] & 0xbfbfbfbfu;
  float d[4] = {1.0f, 0.0f, -3.0f, 0.5f};
#define MMA(types)                                                                              \
  asm("mma.sync.aligned.m16n8k32.row.col.f32." types ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}," \
      "{%8, %9}, {%0, %1, %2, %3};"                                                             \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                          \
      : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]))
  MMA("e4m3.e4m3");
  MMA("e4m3.e5m2");
  MMA("e5m2.e4m3");
  MMA("e5m2.e5m2");
  for (int i = 0; i < 4; ++i) c[t * 4 + i] = d[i];
}
