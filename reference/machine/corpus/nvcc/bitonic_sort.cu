// A bitonic sort of 256 signed keys in shared memory.

extern "C" __global__ void bitonic_sort(int* keys) {
  extern __shared__ int tile[];
  const unsigned t = threadIdx.x;
  tile[t] = keys[t];
  tile[t + 128] = keys[t + 128];
  for (unsigned size = 2; size <= 256; size *= 2) {
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const unsigned i = 2 * t - (t & (stride - 1)), j = i + stride;
      const bool ascending = (i & size) == 0;
      if ((tile[i] > tile[j]) == ascending) {
        const int swap = tile[i];
        tile[i] = tile[j];
        tile[j] = swap;
      }
    }
  }
  __syncthreads();
  keys[t] = tile[t];
  keys[t + 128] = tile[t + 128];
}
