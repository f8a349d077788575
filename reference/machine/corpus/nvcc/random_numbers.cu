// Philox 4x32-10 and xoshiro128**: uniforms and a rejection loop.

__device__ uint4 philox(uint4 c, uint2 key) {
  for (int i = 0; i < 10; ++i) {
    const unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
    const unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ key.x, l1, h0 ^ c.w ^ key.y, l0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}

extern "C" __global__ void random_numbers(uint4* out, float* uniform, unsigned seed) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  const uint4 r = philox(make_uint4(t, 0, 0, 1), make_uint2(seed, 0));
  out[t] = r;
  uint4 s = r;
  int inside = 0, tries = 0;
  while (inside < 4) {
    const unsigned m = s.y * 5, draw = ((m << 7) | (m >> 25)) * 9, shifted = s.y << 9;
    s.z ^= s.x;
    s.w ^= s.y;
    s.y ^= s.z;
    s.x ^= s.w;
    s.z ^= shifted;
    s.w = (s.w << 11) | (s.w >> 21);
    const float u = (draw >> 8) * 0x1p-24f, v = (draw & 0xffff) * 0x1p-16f;
    ++tries;
    if (__fadd_rn(__fmul_rn(u, u), __fmul_rn(v, v)) < 1.0f) ++inside;
  }
  uniform[t] = __uint2float_rn(r.x >> 9) * 0x1p-23f + tries;
}
