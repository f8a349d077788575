// A sparse matrix (CSR) times a vector; a first launch makes the row pointers from row lengths.

extern "C" __global__ void row_pointers(const unsigned* lengths, unsigned* rows, int n) {
  if (threadIdx.x != 0) return;
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) {
    rows[i] = sum;
    sum += lengths[i];
  }
  rows[n] = sum;
}

extern "C" __global__ void sparse_product(const unsigned* rows, const unsigned short* columns,
                                          const float* values, const float* x, float* y, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0.0f;
  for (unsigned i = rows[row]; i < rows[row + 1]; ++i) sum = fmaf(values[i], __ldg(x + columns[i]), sum);
  y[row] = sum;
}
