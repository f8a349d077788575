// One tile of attention by tensor cores: scores, an online maximum with exp2, weighted values.
#include <cuda_fp16.h>

__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ unsigned pack(float x, float y) {
  const __half2 h = __floats2half2_rn(x, y);
  return *reinterpret_cast<const unsigned*>(&h);
}

extern "C" __global__ void attention_tile(const unsigned* q, const unsigned* k, const unsigned* v,
                                          float* out) {
  const unsigned t = threadIdx.x;
  const unsigned a[4] = {q[t], q[t + 32], q[t + 64], q[t + 96]};
  float s[2][4] = {};
  for (int n = 0; n < 2; ++n) mma(s[n], a, k[n * 64 + t], k[n * 64 + 32 + t]);
  float most[2] = {-1e30f, -1e30f}, sum[2] = {0.0f, 0.0f};
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 4; ++i) most[i / 2] = fmaxf(most[i / 2], s[n][i]);
  for (int r = 0; r < 2; ++r) {
    most[r] = fmaxf(most[r], __shfl_xor_sync(0xffffffffu, most[r], 1));
    most[r] = fmaxf(most[r], __shfl_xor_sync(0xffffffffu, most[r], 2));
  }
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 4; ++i) {
      s[n][i] = exp2f(s[n][i] - most[i / 2]);
      sum[i / 2] += s[n][i];
    }
  const unsigned p[4] = {pack(s[0][0], s[0][1]), pack(s[0][2], s[0][3]), pack(s[1][0], s[1][1]),
                         pack(s[1][2], s[1][3])};
  float o[4] = {};
  mma(o, p, v[t], v[t + 32]);
  for (int i = 0; i < 4; ++i) {
    float total = sum[i / 2];
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    total += __shfl_xor_sync(0xffffffffu, total, 2);
    out[t * 4 + i] = o[i] / total;
  }
}
