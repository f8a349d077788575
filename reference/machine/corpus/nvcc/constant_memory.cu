// Initialised constant memory, indexed uniformly and by lane.

struct Pair {
  float weight;
  unsigned char taps[4];
};
__constant__ float polynomial[8] = {1.0f, -0.5f, 0.25f, -0.125f, 3.0f, -7.0f, 0.0625f, 2.0f};
__constant__ Pair pairs[3] = {{1.5f, {1, 2, 3, 4}}, {-2.0f, {9, 8, 7, 6}}, {0.5f, {0, 255, 1, 0}}};
__constant__ unsigned long long big = 0x0123456789abcdefull;

extern "C" __global__ void constant_memory(const float* x, float* out) {
  const int t = threadIdx.x;
  float y = 0.0f;
  for (int i = 7; i >= 0; --i) y = __fmaf_rn(y, x[t], polynomial[i]);
  const Pair& p = pairs[t % 3];
  out[2 * t] = y;
  out[2 * t + 1] = __fadd_rn(__fmul_rn(p.weight, p.taps[t & 3]),
                             static_cast<float>((big >> (t & 63)) & 0xff));
}
