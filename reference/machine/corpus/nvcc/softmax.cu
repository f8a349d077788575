// Softmax of rows: the library's expf stands on ex2.approx, so the bits are not fixed.

extern "C" __global__ void softmax(const float* x, float* out, int n) {
  const float* row = x + blockIdx.x * n;
  const int lane = threadIdx.x;
  float most = -3.4e38f;
  for (int i = lane; i < n; i += 32) most = fmaxf(most, row[i]);
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
  float sum = 0.0f;
  for (int i = lane; i < n; i += 32) sum += expf(row[i] - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  for (int i = lane; i < n; i += 32) out[blockIdx.x * n + i] = expf(row[i] - most) / sum;
}
