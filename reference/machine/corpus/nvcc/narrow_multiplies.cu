// 24-bit and 16-bit products, sums of absolute differences, rounded averages.

extern "C" __global__ void narrow_multiplies(const int* x, int* out) {
  const unsigned t = threadIdx.x;
  const int a = x[3 * t], b = x[3 * t + 1], c = x[3 * t + 2];
  int* o = out + t * 12;
  o[0] = __mul24(a, b);
  o[1] = static_cast<int>(__umul24(a, b));
  o[2] = __mulhi(a, b);
  o[3] = static_cast<int>(__umulhi(a, b));
  o[4] = static_cast<int>(__sad(a, b, c));
  o[5] = static_cast<int>(__usad(a, b, c));
  o[6] = __hadd(a, b);
  o[7] = __rhadd(a, b);
  o[8] = static_cast<int>(__uhadd(a, b));
  o[9] = static_cast<int>(__urhadd(a, b));
  o[10] = static_cast<short>(a) * static_cast<short>(b) + c;
  o[11] = static_cast<unsigned short>(a) * static_cast<unsigned short>(b) - c;
}
