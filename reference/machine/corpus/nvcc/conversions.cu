// Conversions between integers and floats in all roundings; out of range and NaN too.

extern "C" __global__ void conversions(const unsigned* x, unsigned long long* out) {
  const unsigned t = threadIdx.x;
  const float f = __uint_as_float(x[2 * t]);
  const double d = __longlong_as_double((static_cast<long long>(x[2 * t]) << 32) | x[2 * t + 1]);
  const int i = static_cast<int>(x[2 * t]);
  const long long l = __double_as_longlong(d);
  unsigned long long* o = out + t * 32;
  o[0] = __float2int_rn(f);
  o[1] = __float2int_rz(f);
  o[2] = __float2int_ru(f);
  o[3] = __float2int_rd(f);
  o[4] = __float2uint_rn(f);
  o[5] = __float2uint_rz(f);
  o[6] = __float2ll_rn(f);
  o[7] = __float2ull_rd(f);
  o[8] = __double2int_rn(d);
  o[9] = __double2uint_rz(d);
  o[10] = __double2ll_ru(d);
  o[11] = __double2ull_rn(d);
  o[12] = __float_as_uint(__int2float_rn(i));
  o[13] = __float_as_uint(__int2float_rz(i));
  o[14] = __float_as_uint(__uint2float_ru(i));
  o[15] = __float_as_uint(__ll2float_rd(l));
  o[16] = __float_as_uint(__ull2float_rn(l));
  o[17] = __double_as_longlong(__ll2double_rn(l));
  o[18] = __double_as_longlong(__ull2double_rz(l));
  o[19] = __double_as_longlong(static_cast<double>(i));
  o[20] = __float_as_uint(__double2float_rn(d));
  o[21] = __float_as_uint(__double2float_ru(d));
  o[22] = __float_as_uint(__double2float_rz(d));
  o[23] = __double_as_longlong(static_cast<double>(f));
  o[24] = static_cast<unsigned long long>(static_cast<short>(i));
  o[25] = static_cast<unsigned char>(f);
  o[26] = static_cast<unsigned long long>(static_cast<signed char>(l));
  o[27] = __float_as_uint(truncf(f));
  o[28] = __float_as_uint(rintf(f));
  o[29] = __float_as_uint(ceilf(f) + floorf(-f));
  o[30] = __double_as_longlong(ceil(d));
  o[31] = __float_as_uint(__fadd_rn(static_cast<float>(static_cast<short>(i)),
                                    static_cast<float>(static_cast<unsigned char>(l))));
}
