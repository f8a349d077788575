// Division and remainder of every width, by zero too.

template <class T>
__device__ T quotient(T a, T b) {
  return a / b;
}
template <class T>
__device__ T rest(T a, T b) {
  return a % b;
}

template <class T>
__device__ void both(const T* x, T* out, unsigned t) {
  const T a = x[2 * t];
  const T b = t % 7 == 3 ? T(0) : t % 7 == 5 ? T(-1) : T(x[2 * t + 1] >> (t % (8 * sizeof(T))));
  out[2 * t] = quotient(a, b);
  out[2 * t + 1] = rest(a, b);
}

extern "C" __global__ void division(const void* x, void* o8, void* o16, void* o32, void* o64) {
  const unsigned t = threadIdx.x, n = 2 * blockDim.x;
  both(static_cast<const signed char*>(x), static_cast<signed char*>(o8), t);
  both(static_cast<const unsigned char*>(x), static_cast<unsigned char*>(o8) + n, t);
  both(static_cast<const short*>(x), static_cast<short*>(o16), t);
  both(static_cast<const unsigned short*>(x), static_cast<unsigned short*>(o16) + n, t);
  both(static_cast<const int*>(x), static_cast<int*>(o32), t);
  both(static_cast<const unsigned*>(x), static_cast<unsigned*>(o32) + n, t);
  both(static_cast<const long long*>(x), static_cast<long long*>(o64), t);
  both(static_cast<const unsigned long long*>(x), static_cast<unsigned long long*>(o64) + n, t);
}
