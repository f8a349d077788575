// printf from a few threads, with every kind of argument.
#include <cstdio>

extern "C" __global__ void printing(const int* x, int* out) {
  const int t = threadIdx.x;
  int written = -1;
  if (t % 16 == 3) {
    written = printf("thread %d: %u %x %c %s %lld %f %5.2f %%\n", t, 7u, x[t], 'a' + t, "word",
                     static_cast<long long>(x[t]) << 20, x[t] * 0.5, 1.0f / 3.0f);
  }
  if (t == 0) printf("no arguments\n");
  out[t] = written;
}
