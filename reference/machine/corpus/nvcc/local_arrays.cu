// Local arrays indexed at run time: insertion sort and a small stack machine.

extern "C" __global__ void local_arrays(const int* x, int* out) {
  const int t = threadIdx.x;
  int values[16];
  for (int i = 0; i < 16; ++i) values[i] = x[t * 16 + i];
#pragma unroll 1
  for (int i = 1; i < 16; ++i) {
    const int v = values[i];
    int j = i;
    for (; j > 0 && values[j - 1] > v; --j) values[j] = values[j - 1];
    values[j] = v;
  }
  short stack[8];
  int depth = 0;
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const int op = (values[i] >> 4) & 3;
    if (op == 0 || depth < 2) {
      stack[depth++ & 7] = static_cast<short>(values[i]);
    } else {
      const short b = stack[--depth & 7], a = stack[--depth & 7];
      stack[depth++ & 7] = static_cast<short>(op == 1 ? a + b : op == 2 ? a - b : a ^ b);
    }
  }
  for (int i = 0; i < 16; ++i) out[t * 17 + i] = values[i];
  out[t * 17 + 16] = stack[(depth - 1) & 7];
}
