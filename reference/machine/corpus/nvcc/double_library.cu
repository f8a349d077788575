// The library's f64 functions: fixed sequences of fma, so their bits are fixed.

extern "C" __global__ void double_library(const double* x, double* out) {
  const int t = threadIdx.x;
  const double a = x[t];
  switch (t & 3) {
    case 0: out[t] = exp(a); break;
    case 1: out[t] = log(fabs(a)); break;
    case 2: out[t] = cbrt(a); break;
    case 3: out[t] = fmod(a, 0.3) + hypot(a, 2.0); break;
  }
}
