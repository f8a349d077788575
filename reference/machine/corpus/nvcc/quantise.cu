// Rows of floats to 8 bits with a scale of their own, and back.

extern "C" __global__ void quantise(const float* x, signed char* q, float* scales, float* back) {
  const int lane = threadIdx.x;
  const float v = x[blockIdx.x * 32 + lane];
  float most = fabsf(v);
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
  const float scale = most / 127.0f;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  const int rounded = __float2int_rn(v * inverse);
  q[blockIdx.x * 32 + lane] = static_cast<signed char>(min(max(rounded, -127), 127));
  back[blockIdx.x * 32 + lane] = scale * rounded;
  if (lane == 0) scales[blockIdx.x] = scale;
}
