// Functions kept apart: structs returned, an indirect call, and recursion.
#include "reference/machine/corpus/clang/device.h"

struct Fraction {
  long long top, bottom;
};
noinline __device__ long long gcd(long long a, long long b) { return b == 0 ? a : gcd(b, a % b); }
noinline __device__ Fraction add(Fraction a, Fraction b) {
  const long long top = a.top * b.bottom + b.top * a.bottom, bottom = a.bottom * b.bottom;
  const long long g = gcd(top < 0 ? -top : top, bottom);
  return {top / g, bottom / g};
}
noinline __device__ Fraction multiply(Fraction a, Fraction b) {
  const long long g = gcd(a.top * b.top, a.bottom * b.bottom);
  return {a.top * b.top / g, a.bottom * b.bottom / g};
}

extern "C" __global__ void calls(const unsigned char* x, long long* out) {
  const int t = index();
  Fraction sum = {0, 1};
  for (int i = 0; i < 4; ++i) {
    const Fraction f = {x[8 * t + 2 * i] + 1, x[8 * t + 2 * i + 1] % 30 + 1};
    Fraction (*operation)(Fraction, Fraction) = x[8 * t + i] & 1 && i > 0 ? multiply : add;
    sum = operation(sum, f);
  }
  out[2 * t] = sum.top;
  out[2 * t + 1] = sum.bottom;
}
