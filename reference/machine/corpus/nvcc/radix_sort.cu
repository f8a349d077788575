// A radix sort of a block's keys, four bits a pass, by ballots and shared counts.

extern "C" __global__ void radix_sort(unsigned* keys, int passes) {
  __shared__ unsigned buffer[128], counts[16][4], start[16][4];
  const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned key = keys[blockIdx.x * 128 + t];
  for (int pass = 0; pass < passes; ++pass) {
    const unsigned digit = (key >> (4 * pass)) & 15;
    const unsigned peers = __match_any_sync(0xffffffffu, digit);
    const unsigned rank = __popc(peers & ((1u << lane) - 1));
    if (t < 64) counts[t / 4][t % 4] = 0;
    __syncthreads();
    if (rank == 0) counts[digit][warp] = __popc(peers);
    __syncthreads();
    if (t < 64) {
      unsigned before = 0;
      for (unsigned i = 0; i < t; ++i) before += counts[i / 4][i % 4];
      start[t / 4][t % 4] = before;
    }
    __syncthreads();
    buffer[start[digit][warp] + rank] = key;
    __syncthreads();
    key = buffer[t];
  }
  keys[blockIdx.x * 128 + t] = key;
}
