// _Float16 and ext_vector types: packed arithmetic as clang lowers it.
#include "reference/machine/corpus/clang/device.h"

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4 __attribute__((ext_vector_type(4)));

extern "C" __global__ void half_vectors(const half4* x, const float4* y, half4* out, float4* sums) {
  const int t = index();
  const half4 a = x[t];
  const float4 b = y[t];
  half4 h = a;
  for (int i = 0; i < 4; ++i) h[i] = static_cast<_Float16>(static_cast<float>(a[i]) - b[3 - i]);
  out[t] = h;
  sums[t] = float4{__builtin_fmaf(b.x, b.y, b.z), b.w > 0 ? b.x : b.y, __builtin_floorf(b.z), __builtin_fabsf(b.w)};
}
