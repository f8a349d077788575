// f16 fragments by ldmatrix, products with f32 and f16 accumulators.
#include <cuda_fp16.h>

extern "C" __global__ void mma_f16(const __half* a, const __half* b, float* c, unsigned* half) {
  __shared__ __align__(16) __half at[16 * 16], bt[16 * 8];
  const unsigned t = threadIdx.x;
  for (unsigned i = t; i < 256; i += 32) at[i] = a[i];
  for (unsigned i = t; i < 128; i += 32) bt[i] = b[i];
  __syncwarp();
  unsigned f[4], g[2];
  const auto row = static_cast<unsigned>(
      __cvta_generic_to_shared(at + (t % 16) * 16 + (t / 16) * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(row) : "memory");
  const auto column = static_cast<unsigned>(__cvta_generic_to_shared(bt + (t % 16) * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(g[0]), "=r"(g[1]) : "r"(column) : "memory");
  float d[4] = {0.5f, -1.0f, 3.0f, 0.0f};
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]));
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6},"
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(f[2]), "r"(f[3]), "r"(g[1]));
  for (int i = 0; i < 4; ++i) c[t * 4 + i] = d[i];
  unsigned h[2] = {0x3c00bc00u, 0x00004200u};
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7},"
      "{%0, %1};"
      : "+r"(h[0]), "+r"(h[1])
      : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]));
  asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
      : "+r"(h[0]), "+r"(h[1]) : "r"(f[0]), "r"(f[1]), "r"(g[0]));
  half[t * 2] = h[0];
  half[t * 2 + 1] = h[1];
}
