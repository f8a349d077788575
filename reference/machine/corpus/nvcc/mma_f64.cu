// f64 products on the tensor cores: a small matrix product over k = 16.

extern "C" __global__ void mma_f64(const double* a, const double* b, double* c) {
  const unsigned t = threadIdx.x, row = t / 4, pair = t % 4;
  double d0 = 0.0, d1 = 1.0;
  for (int k = 0; k < 16; k += 4) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(d0), "+d"(d1) : "d"(a[row * 16 + k + pair]), "d"(b[row * 16 + k + pair]));
  }
  c[row * 8 + 2 * pair] = d0;
  c[row * 8 + 2 * pair + 1] = d1;
}
