// f64: sums, quotients, roots and the library's exact helpers.

extern "C" __global__ void double_math(const double* x, double* out) {
  const unsigned t = threadIdx.x;
  const double a = x[3 * t], b = x[3 * t + 1], c = x[3 * t + 2];
  double* o = out + t * 16;
  o[0] = __dadd_rn(a, b);
  o[1] = __dsub_rz(a, b);
  o[2] = __dmul_ru(a, b);
  o[3] = __fma_rd(a, b, c);
  o[4] = a / b;
  o[5] = sqrt(fabs(a));
  o[6] = __drcp_rn(b);
  o[7] = fmin(a, b);
  o[8] = fmax(a, c);
  o[9] = floor(a) + trunc(b);
  o[10] = rint(a * 100.0);
  o[11] = copysign(a, c);
  o[12] = __ddiv_ru(a, c);
  o[13] = __dsqrt_rd(fabs(b));
  o[14] = fma(a, b, -c);
  o[15] = a < b ? -a : fabs(c);
}
