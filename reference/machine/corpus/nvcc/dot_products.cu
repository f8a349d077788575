// Four-way and two-way byte dot products with 32-bit sums.

extern "C" __global__ void dot_products(const int* x, int* out, int n) {
  const int t = threadIdx.x;
  int s = 0, m = t;
  unsigned u = 0, lo = 0;
  int hi = 1, low = 2;
  for (int i = 0; i < n; ++i) {
    const int a = x[i * blockDim.x + t], b = x[(i * 7 + t) % (n * blockDim.x)];
    s = __dp4a(a, b, s);
    u = __dp4a(static_cast<unsigned>(a), static_cast<unsigned>(b), u);
    hi = __dp2a_hi(a, b, hi);
    low = __dp2a_lo(a, b, low);
    lo = __dp2a_lo(static_cast<unsigned>(a), static_cast<unsigned>(b), lo);
    asm("dp4a.s32.u32 %0, %1, %2, %0;" : "+r"(m) : "r"(a), "r"(b));
    asm("dp2a.hi.u32.s32 %0, %1, %2, %0;" : "+r"(m) : "r"(a), "r"(b));
  }
  int* o = out + t * 6;
  o[0] = s;
  o[1] = static_cast<int>(u);
  o[2] = hi;
  o[3] = low;
  o[4] = static_cast<int>(lo);
  o[5] = m;
}
