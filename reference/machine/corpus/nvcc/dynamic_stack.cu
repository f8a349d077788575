// alloca: an array on the stack whose size is known at run time only.
// One thread a size, so that the sizes differ within the warp.

extern "C" __global__ void dynamic_stack(const int* x, int* out) {
  const int t = threadIdx.x, n = 3 + t % 6;
  int* a = static_cast<int*>(__builtin_alloca(n * sizeof(int)));
  for (int i = 0; i < n; ++i) a[i] = x[(t + i * 5) % 32];
  int sum = 0;
  for (int i = 0; i < n; ++i) sum = sum * 7 + a[(i * i) % n];
  out[t] = sum;
}
