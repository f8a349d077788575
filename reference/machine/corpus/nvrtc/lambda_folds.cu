// Folds with lambdas through templates over types, the way generic libraries are written.

template <class T, class F>
__device__ T fold(const T* x, int n, T start, F f) {
  for (int i = 0; i < n; ++i) start = f(start, x[i]);
  return start;
}
template <class T>
struct Minimum {
  __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};

extern "C" __global__ void lambda_folds(const short* s, const float* f, double* out) {
  const int t = threadIdx.x;
  out[4 * t] = fold<short>(s + 8 * t, 8, 0, [](short a, short b) { return static_cast<short>(a ^ (b + (a << 1))); });
  out[4 * t + 1] = fold<float>(f + 8 * t, 8, 3e38f, Minimum<float>());
  int count = 0;
  out[4 * t + 2] = fold<float>(f + 8 * t, 8, 0.0f, [&count](float a, float b) {
    count += b < a;
    return fmaxf(a, b);
  });
  out[4 * t + 3] = count;
}
