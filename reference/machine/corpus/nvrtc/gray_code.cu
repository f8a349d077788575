// Gray codes, Morton order, and the next permutation of a set's bits.

extern "C" __global__ void gray_code(const unsigned* x, unsigned* out) {
  const unsigned t = threadIdx.x, v = x[t];
  const unsigned gray = v ^ (v >> 1);
  unsigned binary = gray;
  for (int s = 1; s < 32; s *= 2) binary ^= binary >> s;
  unsigned a = v & 0xffff;
  a = (a | (a << 8)) & 0x00ff00ffu;
  a = (a | (a << 4)) & 0x0f0f0f0fu;
  a = (a | (a << 2)) & 0x33333333u;
  a = (a | (a << 1)) & 0x55555555u;
  const unsigned set = v | 1, low = set | (set - 1);
  const unsigned following = (low + 1) | (((~low & (low + 1)) - 1) >> (__ffs(set)));
  out[4 * t] = gray;
  out[4 * t + 1] = binary - v;
  out[4 * t + 2] = a;
  out[4 * t + 3] = following;
}
