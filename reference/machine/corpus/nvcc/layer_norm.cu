// Layer norm of rows by a block, with sqrt and division rounded to nearest.

extern "C" __global__ void layer_norm(const float* x, const float* gain, float* out, int n) {
  __shared__ float part[4];
  const float* row = x + blockIdx.x * n;
  const int t = threadIdx.x;
  auto block_sum = [&](float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    __syncthreads();
    if (t % 32 == 0) part[t / 32] = v;
    __syncthreads();
    return part[0] + part[1] + part[2] + part[3];
  };
  float sum = 0.0f;
  for (int i = t; i < n; i += 128) sum += row[i];
  const float mean = block_sum(sum) / n;
  float squares = 0.0f;
  for (int i = t; i < n; i += 128) squares = fmaf(row[i] - mean, row[i] - mean, squares);
  const float scale = 1.0f / sqrtf(block_sum(squares) / n + 1e-5f);
  for (int i = t; i < n; i += 128) out[blockIdx.x * n + i] = (row[i] - mean) * scale * gain[i];
}
