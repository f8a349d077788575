// Option prices by a rational approximation; logf and expf stand on approximate instructions.

__device__ float normal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  const float tail = 0.39894228f * expf(-0.5f * d * d) *
                     (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float* price, const float* strike, float* call, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float years = 0.5f, rate = 0.02f, volatility = 0.3f, root = sqrtf(years);
  const float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years) / (volatility * root);
  const float discounted = strike[i] * expf(-rate * years);
  call[i] = price[i] * normal(d1) - discounted * normal(d1 - volatility * root);
}
