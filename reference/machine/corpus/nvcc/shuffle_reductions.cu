// Sums, extrema and scans across a warp by shuffles of every kind.

extern "C" __global__ void shuffle_reductions(const int* x, int* out) {
  const unsigned t = threadIdx.x, lane = t & 31;
  int sum = x[t], least = sum, scan = sum;
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, d);
    least = min(least, __shfl_down_sync(0xffffffffu, least, d));
  }
  for (int d = 1; d < 32; d *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, scan, d);
    if (lane >= static_cast<unsigned>(d)) scan += other;
  }
  const int rotated = __shfl_sync(0xffffffffu, x[t], (lane * 7 + 3) % 32);
  const int narrow = __shfl_xor_sync(0xffffffffu, x[t], 3, 8);
  const long long wide = __shfl_sync(0xffffffffu, static_cast<long long>(x[t]) << 20, lane ^ 1);
  const double real = __shfl_down_sync(0xffffffffu, static_cast<double>(x[t]), 2, 16);
  int* o = out + t * 7;
  o[0] = sum;
  o[1] = __shfl_sync(0xffffffffu, least, 0);
  o[2] = scan;
  o[3] = rotated;
  o[4] = narrow;
  o[5] = static_cast<int>(wide >> 13);
  o[6] = static_cast<int>(real * 0.5);
}
