// Escape counts of a Julia set in f64; products and sums may be contracted.

extern "C" __global__ void julia(unsigned short* out, int width, int height, double cr, double ci) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i >= width) return;
  double x = (i - width / 2) * 0.05, y = (j - height / 2) * 0.05;
  unsigned short n = 0;
  for (; n < 60 && x * x + y * y < 4.0; ++n) {
    const double next = x * x - y * y + cr;
    y = 2.0 * x * y + ci;
    x = next;
  }
  out[j * width + i] = n;
}
