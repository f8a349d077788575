// Inverses modulo a prime by the extended Euclidean algorithm, and by Fermat; they agree.

template <class T>
__device__ T inverse(T a, T m) {
  T t = 0, next = 1, r = m, rest = a % m;
  while (rest != 0) {
    const T q = r / rest;
    const T u = t - q * next;
    t = next;
    next = u;
    const T v = r - q * rest;
    r = rest;
    rest = v;
  }
  return t < 0 ? t + m : t;
}

extern "C" __global__ void modular_inverse(const unsigned* x, long long* out) {
  const int t = threadIdx.x;
  const long long p = 1000000007, a = 1 + x[t] % (p - 1);
  unsigned long long power = 1, base = a;
  for (unsigned e = p - 2; e != 0; e /= 2) {
    if (e & 1) power = power * base % p;
    base = base * base % p;
  }
  out[3 * t] = inverse<long long>(a, p);
  out[3 * t + 1] = static_cast<long long>(power) - out[3 * t];
  out[3 * t + 2] = inverse<int>(static_cast<int>(x[t] % 32748 + 1), 32749);
}
