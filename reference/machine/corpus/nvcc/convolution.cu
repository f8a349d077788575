// A 3x3 convolution with weights in constant memory and a halo in shared memory.

__constant__ float weights[3][3] = {{0.0625f, 0.125f, 0.0625f}, {0.125f, 0.25f, 0.125f}, {0.0625f, -0.125f, 0.3f}};

extern "C" __global__ void convolution(const unsigned char* image, float* out, int width, int height) {
  __shared__ float tile[10][18];
  const int x0 = blockIdx.x * 16, y0 = blockIdx.y * 8;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 180; i += 128) {
    const int x = x0 + i % 18 - 1, y = y0 + i / 18 - 1;
    tile[i / 18][i % 18] = x >= 0 && x < width && y >= 0 && y < height ? image[y * width + x] : 0.0f;
  }
  __syncthreads();
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) sum = fmaf(weights[j][i], tile[threadIdx.y + j][threadIdx.x + i], sum);
  out[y * width + x] = sum;
}
