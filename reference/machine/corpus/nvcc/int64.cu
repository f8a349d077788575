// 64-bit arithmetic: high products, shifts, comparisons, a modular power.

__device__ unsigned long long power(unsigned long long base, unsigned exponent,
                                    unsigned long long modulus) {
  unsigned long long result = 1;
  for (base %= modulus; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  return result;
}

extern "C" __global__ void int64(const long long* x, long long* out) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  const long long a = x[2 * t], b = x[2 * t + 1];
  long long* o = out + t * 10;
  o[0] = __mul64hi(a, b);
  o[1] = static_cast<long long>(__umul64hi(a, b));
  o[2] = a * b + (a >> 7) - (b << 3);
  o[3] = a < b ? a : b;
  o[4] = max(static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
  o[5] = llabs(a);
  o[6] = static_cast<long long>(power(a, static_cast<unsigned>(b) & 0xffff, 1000000007ull));
  o[7] = static_cast<int>(a) * static_cast<long long>(static_cast<int>(b));
  o[8] = (a == b) + 2 * (a <= b) + 4 * (static_cast<unsigned long long>(a) > b);
  o[9] = (a ^ b) & ~(a | static_cast<long long>(t));
}
