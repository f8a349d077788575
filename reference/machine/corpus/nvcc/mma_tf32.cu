// tf32 products of both depths, operands rounded by cvt.rna.

__device__ unsigned tf32(float x) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

extern "C" __global__ void mma_tf32(const float* a, const float* b, float* c) {
  const unsigned t = threadIdx.x;
  unsigned f[4], g[2];
  for (int i = 0; i < 4; ++i) f[i] = tf32(a[t * 4 + i]);
  for (int i = 0; i < 2; ++i) g[i] = tf32(b[t * 2 + i]);
  float d[4] = {1.0f, 0.0f, -0.25f, 100.0f};
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]));
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6},"
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(f[1]), "r"(f[3]), "r"(g[1]));
  for (int i = 0; i < 4; ++i) c[t * 4 + i] = d[i];
}
