// Radix-2 butterflies over rows of 32 complex numbers; the twiddles are a table in constant memory.

__constant__ float2 twiddles[8] = {{1.0f, 0.0f},          {0.98078525f, -0.19509032f},
                                   {0.92387950f, -0.38268343f}, {0.83146960f, -0.55557024f},
                                   {0.70710677f, -0.70710677f}, {0.55557024f, -0.83146960f},
                                   {0.38268343f, -0.92387950f}, {0.19509032f, -0.98078525f}};

extern "C" __global__ void fft(float2* data) {
  __shared__ float2 x[32];
  const unsigned t = threadIdx.x;
  float2* row = data + blockIdx.x * 32;
  x[__brev(t) >> 27] = row[t];
  x[__brev(t + 16) >> 27] = row[t + 16];
  for (unsigned half = 1; half < 32; half *= 2) {
    __syncthreads();
    const unsigned k = t & (half - 1), i = 2 * (t - k) + k;
    const unsigned angle = k * (16 / half);
    float2 w = twiddles[angle & 7];
    if (angle >= 8) w = make_float2(w.y, -w.x);
    const float2 a = x[i], b = x[i + half];
    const float2 p = make_float2(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
    x[i] = make_float2(a.x + p.x, a.y + p.y);
    x[i + half] = make_float2(a.x - p.x, a.y - p.y);
  }
  __syncthreads();
  row[t] = x[t];
  row[t + 16] = x[t + 16];
}
