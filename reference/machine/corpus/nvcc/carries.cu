// 256-bit sums, differences and products by carry chains.

struct Wide {
  unsigned limb[8];
};

__device__ Wide add(const Wide& a, const Wide& b) {
  Wide d;
  asm("add.cc.u32 %0, %8, %16; addc.cc.u32 %1, %9, %17; addc.cc.u32 %2, %10, %18;"
      "addc.cc.u32 %3, %11, %19; addc.cc.u32 %4, %12, %20; addc.cc.u32 %5, %13, %21;"
      "addc.cc.u32 %6, %14, %22; addc.u32 %7, %15, %23;"
      : "=r"(d.limb[0]), "=r"(d.limb[1]), "=r"(d.limb[2]), "=r"(d.limb[3]), "=r"(d.limb[4]),
        "=r"(d.limb[5]), "=r"(d.limb[6]), "=r"(d.limb[7])
      : "r"(a.limb[0]), "r"(a.limb[1]), "r"(a.limb[2]), "r"(a.limb[3]), "r"(a.limb[4]),
        "r"(a.limb[5]), "r"(a.limb[6]), "r"(a.limb[7]), "r"(b.limb[0]), "r"(b.limb[1]),
        "r"(b.limb[2]), "r"(b.limb[3]), "r"(b.limb[4]), "r"(b.limb[5]), "r"(b.limb[6]),
        "r"(b.limb[7]));
  return d;
}

__device__ unsigned long long subtract(unsigned long long a0, unsigned long long a1,
                                       unsigned long long b0, unsigned long long b1,
                                       unsigned long long& high) {
  unsigned long long low;
  asm("sub.cc.u64 %0, %2, %4; subc.u64 %1, %3, %5;"
      : "=l"(low), "=l"(high)
      : "l"(a0), "l"(a1), "l"(b0), "l"(b1));
  return low;
}

// Schoolbook row: d += a * b, with the carry out of the top.
__device__ unsigned multiply_row(unsigned (&d)[5], unsigned a, const unsigned (&b)[4]) {
  asm("mad.lo.cc.u32 %0, %5, %6, %0; madc.lo.cc.u32 %1, %5, %7, %1;"
      "madc.lo.cc.u32 %2, %5, %8, %2; madc.lo.cc.u32 %3, %5, %9, %3; addc.u32 %4, %4, 0;"
      "mad.hi.cc.u32 %1, %5, %6, %1; madc.hi.cc.u32 %2, %5, %7, %2;"
      "madc.hi.cc.u32 %3, %5, %8, %3; madc.hi.u32 %4, %5, %9, %4;"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4])
      : "r"(a), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
  return d[0];
}

extern "C" __global__ void carries(const unsigned* x, unsigned* out) {
  const unsigned t = threadIdx.x;
  Wide a, b;
  for (int i = 0; i < 8; ++i) {
    a.limb[i] = x[t * 16 + i];
    b.limb[i] = i % 3 == 0 ? ~a.limb[i] : x[t * 16 + 8 + i];
  }
  const Wide sum = add(a, b);
  for (int i = 0; i < 8; ++i) out[t * 20 + i] = sum.limb[i];
  const auto* wide = reinterpret_cast<const unsigned long long*>(x) + t * 8;
  unsigned long long high;
  const unsigned long long low = subtract(wide[0], wide[1], wide[2], wide[3], high);
  out[t * 20 + 8] = static_cast<unsigned>(low);
  out[t * 20 + 9] = static_cast<unsigned>(low >> 32);
  out[t * 20 + 10] = static_cast<unsigned>(high);
  out[t * 20 + 11] = static_cast<unsigned>(high >> 32);
  unsigned row[5] = {a.limb[4], a.limb[5], a.limb[6], a.limb[7], 0};
  const unsigned factor[4] = {b.limb[0], b.limb[1], b.limb[2], b.limb[3]};
  multiply_row(row, b.limb[7], factor);
  for (int i = 0; i < 5; ++i) out[t * 20 + 12 + i] = row[i];
  const __int128 product = static_cast<__int128>(static_cast<long long>(wide[4])) *
                           static_cast<long long>(wide[5]);
  const auto top = static_cast<unsigned long long>(product >> 64);
  out[t * 20 + 17] = static_cast<unsigned>(top);
  out[t * 20 + 18] = static_cast<unsigned>(top >> 32);
  out[t * 20 + 19] = static_cast<unsigned>(static_cast<unsigned long long>(product) >> 32);
}
