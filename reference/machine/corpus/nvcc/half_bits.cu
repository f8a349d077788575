// f16 operations on every kind of bit pattern: infinities, NaN and subnormals among them.
#include <cuda_fp16.h>

extern "C" __global__ void half_bits(const __half* x, unsigned short* out) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  const __half a = x[2 * t], b = x[2 * t + 1];
  unsigned short* o = out + t * 8;
  o[0] = __half_as_ushort(__hadd_rn(a, b));
  o[1] = __half_as_ushort(__hmul_rn(a, b));
  o[2] = __half_as_ushort(__hfma(a, b, a));
  o[3] = __half_as_ushort(__hmax(a, b));
  o[4] = __half_as_ushort(__hmin(a, b));
  o[5] = static_cast<unsigned short>(__half2int_rn(a));
  o[6] = static_cast<unsigned short>(__half2ushort_rz(b));
  o[7] = static_cast<unsigned short>(__heq(a, b) + 2 * __hlt(a, b) + 4 * __hequ(a, b) +
                                     8 * __hisnan(a) + 16 * __hneu(a, b));
}
