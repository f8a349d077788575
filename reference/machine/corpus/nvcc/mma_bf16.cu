// A chain of bf16 products over k = 64, and the short form.

extern "C" __global__ void mma_bf16(const unsigned* a, const unsigned* b, float* c) {
  const unsigned t = threadIdx.x;
  float d[4] = {};
  for (int k = 0; k < 4; ++k) {
    const unsigned* f = a + (k * 32 + t) * 4;
    const unsigned* g = b + (k * 32 + t) * 2;
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3},"
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]));
  }
  asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6},"
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[t]), "r"(a[t + 32]), "r"(b[t]));
  for (int i = 0; i < 4; ++i) c[t * 4 + i] = d[i];
}
