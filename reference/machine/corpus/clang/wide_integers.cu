// 128-bit integers: products, shifts, division by long division that clang writes out.
#include "reference/machine/corpus/clang/device.h"

using u128 = unsigned __int128;

extern "C" __global__ void wide_integers(const unsigned long long* x, unsigned long long* out) {
  const int t = index();
  const u128 a = (static_cast<u128>(x[3 * t]) << 64) | x[3 * t + 1];
  const unsigned long long b = x[3 * t + 2];
  const u128 p = a * b, s = a >> (t & 127);
  u128 rest = 0, quotient = 0;
  for (int i = 127; i >= 0; --i) {
    rest = (rest << 1) | ((a >> i) & 1);
    if (rest >= b) {
      rest -= b;
      quotient |= static_cast<u128>(1) << i;
    }
  }
  unsigned long long* o = out + 6 * t;
  o[0] = static_cast<unsigned long long>(p);
  o[1] = static_cast<unsigned long long>(p >> 64);
  o[2] = static_cast<unsigned long long>(s);
  o[3] = static_cast<unsigned long long>(quotient);
  o[4] = static_cast<unsigned long long>(rest);
  o[5] = quotient * b + rest == a;
}
