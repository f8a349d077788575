// Structured-sparse products: two of four elements kept, their places in metadata.

extern "C" __global__ void mma_sparse(const unsigned* a, const unsigned* b, const unsigned* places,
                                      float* c, int* integers) {
  const unsigned t = threadIdx.x;
  const unsigned f[4] = {a[t * 4], a[t * 4 + 1], a[t * 4 + 2], a[t * 4 + 3]};
  const unsigned g[4] = {b[t * 4], b[t * 4 + 1], b[t * 4 + 2], b[t * 4 + 3]};
  // Each pair of two-bit places ascends: 0b0100, 0b1000, 0b1101, 0b1110 and their like.
  const unsigned choices[4] = {0x4u, 0x8u, 0x9u, 0xeu};
  unsigned meta = 0;
  for (int i = 0; i < 8; ++i) meta |= choices[(places[t] >> (4 * i)) & 3] << (4 * i);
  float d[4] = {0.0f, 1.0f, 2.0f, 3.0f};
  asm("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]), "r"(g[2]), "r"(g[3]),
        "r"(meta));
  asm("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6, %7},"
      "{%0, %1, %2, %3}, %8, 0x1;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(f[0]), "r"(f[1]), "r"(g[0]), "r"(g[1]), "r"(meta));
  for (int i = 0; i < 4; ++i) c[t * 4 + i] = d[i];
  int e[4] = {0, -1, 7, 9};
  asm("mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
      : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3])
      : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]), "r"(g[2]), "r"(g[3]),
        "r"(meta));
  for (int i = 0; i < 4; ++i) integers[t * 4 + i] = e[i];
}
