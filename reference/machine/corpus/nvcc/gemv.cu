// A matrix times a vector, a warp a row, four elements a load.

extern "C" __global__ void gemv(const float4* w, const float4* x, float* y, int n4) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0.0f;
  for (int i = lane; i < n4; i += 32) {
    const float4 a = w[row * n4 + i], b = x[i];
    sum = fmaf(a.x, b.x, sum);
    sum = fmaf(a.y, b.y, sum);
    sum = fmaf(a.z, b.z, sum);
    sum = fmaf(a.w, b.w, sum);
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (lane == 0) y[row] = sum;
}
