// A producer warp and consumer warps that meet at named barriers: arrive and sync.

extern "C" __global__ void named_barriers(const int* x, int* out, int rounds) {
  __shared__ int mailbox[2][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    const int slot = r & 1, full = 1 + slot, empty = 3 + slot;
    if (warp == 0) {
      if (r >= 2) asm volatile("bar.sync %0, 96;" ::"r"(empty) : "memory");
      mailbox[slot][lane] = x[r * 32 + lane];
      asm volatile("bar.arrive %0, 96;" ::"r"(full) : "memory");
    } else {
      asm volatile("bar.sync %0, 96;" ::"r"(full) : "memory");
      sum = sum * 3 + mailbox[slot][(lane + warp) & 31];
      if (r + 2 < rounds) asm volatile("bar.arrive %0, 96;" ::"r"(empty) : "memory");
    }
  }
  out[threadIdx.x] = sum;
  int odd;
  asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.cta.red.or.pred q, 5, 96, p;"
               "selp.s32 %0, 1, 0, q; }" : "=r"(odd) : "r"(sum & 1) : "memory");
  unsigned even;
  asm volatile("{ .reg .pred p; setp.eq.s32 p, %1, 0; barrier.cta.red.popc.u32 %0, 6, p; }"
               : "=r"(even) : "r"(sum & 1) : "memory");
  out[96 + threadIdx.x] = odd * 1000 + static_cast<int>(even);
}
