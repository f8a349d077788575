// Edit distance of two short strings a warp, by anti-diagonals that shuffle along the lanes.

extern "C" __global__ void edit_distance(const unsigned char* a, const unsigned char* b, int* out) {
  const int lane = threadIdx.x, pair = blockIdx.x;
  const unsigned char letter = a[pair * 32 + lane] & 3;
  int previous = 0, current = lane + 1, above = lane;
  for (int step = 0; step < 63; ++step) {
    const int left = __shfl_up_sync(0xffffffffu, current, 1);
    const int diagonal = above;
    above = lane == 0 ? step + 1 : left;
    const int j = step - lane;
    if (j < 0 || j > 31) {
      above = lane == 0 ? above : left;
      continue;
    }
    const int up = lane == 0 ? j + 1 : left, cost = (b[pair * 32 + j] & 3) != letter;
    const int corner = lane == 0 ? j : j == 0 ? lane : diagonal;
    previous = current;
    current = min(min(up, j == 0 ? lane + 1 : previous) + 1, corner + cost);
  }
  if (lane == 31) out[pair] = current;
}
