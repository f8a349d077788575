// 8-bit and 4-bit products, signed, unsigned, mixed and saturating.

#define MMA_8(types, d, a, b)                                                                  \
  asm("mma.sync.aligned.m16n8k32.row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}," \
      "{%0, %1, %2, %3};"                                                                      \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                         \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define MMA_SHORT(shape, types, d, a, b)                                                       \
  asm("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5}, {%6},"         \
      "{%0, %1, %2, %3};"                                                                      \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define MMA_4(types, d, a, b)                                                                  \
  asm("mma.sync.aligned.m16n8k64.row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}," \
      "{%0, %1, %2, %3};"                                                                      \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                         \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

extern "C" __global__ void mma_integer(const unsigned* x, const unsigned* y, int* out) {
  const unsigned t = threadIdx.x;
  const unsigned a[4] = {x[t * 4], x[t * 4 + 1], x[t * 4 + 2], x[t * 4 + 3]};
  const unsigned b[2] = {y[t * 2], y[t * 2 + 1]};
  int d[4] = {1, -2, 0x7fffff00, -0x7ffffff0};
  MMA_8("s32.s8.s8.s32", d, a, b);
  MMA_8("s32.u8.s8.s32", d, a, b);
  MMA_8("s32.s8.u8.s32", d, a, b);
  MMA_8("s32.u8.u8.s32", d, a, b);
  MMA_SHORT("m16n8k16", "s32.s8.s8.s32", d, a, b);
  MMA_SHORT("m16n8k16", "s32.u8.u8.s32", d, a, b);
  MMA_4("s32.s4.s4.s32", d, a, b);
  MMA_4("s32.u4.s4.s32", d, a, b);
  MMA_SHORT("m16n8k32", "s32.s4.s4.s32", d, a, b);
  MMA_SHORT("m16n8k32", "s32.u4.u4.s32", d, a, b);
  int e[4] = {0x7ffffff0, -0x7ffffff0, 5, 0x7fffffff};
  asm("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0, %1, %2, %3},"
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  int f[2] = {3, 4};
  asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+r"(f[0]), "+r"(f[1]) : "r"(a[3]), "r"(b[1]));
  asm("mma.sync.aligned.m8n8k32.row.col.s32.u4.u4.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+r"(f[0]), "+r"(f[1]) : "r"(a[2]), "r"(b[0]));
  int* o = out + t * 10;
  for (int i = 0; i < 4; ++i) {
    o[i] = d[i];
    o[4 + i] = e[i];
  }
  o[8] = f[0];
  o[9] = f[1];
}
