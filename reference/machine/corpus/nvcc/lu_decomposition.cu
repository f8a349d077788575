// LU decomposition of a 12 x 12 matrix a block, without pivots, and a triangular solve.

extern "C" __global__ void lu_decomposition(const float* a, float* lu, float* x) {
  __shared__ float m[12][13];
  const int i = threadIdx.y, j = threadIdx.x;
  m[i][j] = a[(blockIdx.x * 12 + i) * 12 + j] + (i == j ? 20.0f : 0.0f);
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < 11; ++k) {
    if (j == k && i > k) m[i][k] = m[i][k] / m[k][k];
    __syncthreads();
    if (i > k && j > k) m[i][j] = fmaf(-m[i][k], m[k][j], m[i][j]);
    __syncthreads();
  }
  lu[(blockIdx.x * 12 + i) * 12 + j] = m[i][j];
  if (i == 0 && j == 0) {
    float y[12];
#pragma unroll 1
    for (int r = 0; r < 12; ++r) {
      y[r] = 1.0f;
#pragma unroll 1
      for (int c = 0; c < r; ++c) y[r] = fmaf(-m[r][c], y[c], y[r]);
    }
#pragma unroll 1
    for (int r = 11; r >= 0; --r) {
#pragma unroll 1
      for (int c = r + 1; c < 12; ++c) y[r] = fmaf(-m[r][c], y[c], y[r]);
      y[r] /= m[r][r];
      x[blockIdx.x * 12 + r] = y[r];
    }
  }
}
