// Collatz lengths: lanes that leave a loop at very different times.

extern "C" __global__ void collatz(unsigned* steps, unsigned long long* most, unsigned first) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long v = first + i, top = v;
  unsigned n = 0;
  while (v != 1) {
    v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    top = v > top ? v : top;
    ++n;
  }
  steps[i] = n;
  most[i] = top;
}
