// A tiled f32 matrix product; the sums are integers below 2^24, exact in any order.

extern "C" __global__ void shared_tiling(const signed char* a, const signed char* b, float* c,
                                         int m, int n, int k) {
  __shared__ float at[16][16], bt[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int base = 0; base < k; base += 16) {
    const int ka = base + threadIdx.x, kb = base + threadIdx.y;
    at[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    bt[threadIdx.y][threadIdx.x] = column < n && kb < k ? b[kb * n + column] : 0.0f;
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < 16; ++i) sum += at[threadIdx.y][i] * bt[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
