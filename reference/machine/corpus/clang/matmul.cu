// A matrix product without tiles; multiply and add are fused by fmaf alone.
#include "reference/machine/corpus/clang/device.h"

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  const int i = index() / n, j = index() % n;
  if (i >= m) return;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum = __builtin_fmaf(a[i * k + p], b[p * n + j], sum);
  c[i * n + j] = sum;
}
