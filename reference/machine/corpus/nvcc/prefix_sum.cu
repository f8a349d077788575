// A prefix sum over several blocks in three launches on the same buffers.

extern "C" __global__ void scan_blocks(const int* x, int* out, int* totals, int n) {
  __shared__ int part[8];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t, lane = t & 31, warp = t / 32;
  int v = i < n ? x[i] : 0;
  for (int d = 1; d < 32; d *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d) v += other;
  }
  if (lane == 31) part[warp] = v;
  __syncthreads();
  for (int w = 0; w < warp; ++w) v += part[w];
  if (i < n) out[i] = v;
  if (t == 255) totals[blockIdx.x] = v;
}

extern "C" __global__ void scan_totals(int* totals, int blocks) {
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int b = 0; b < blocks; ++b) {
      const int total = totals[b];
      totals[b] = sum;
      sum += total;
    }
  }
}

extern "C" __global__ void add_totals(int* out, const int* totals, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] += totals[blockIdx.x];
}
