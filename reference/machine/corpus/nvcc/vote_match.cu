// Votes, ballots and matches, uniform and diverged.

extern "C" __global__ void vote_match(const int* x, unsigned* out) {
  const unsigned t = threadIdx.x;
  const int a = x[t];
  unsigned* o = out + t * 9;
  o[0] = __ballot_sync(0xffffffffu, a > 0);
  o[1] = __all_sync(0xffffffffu, a > -100) | __any_sync(0xffffffffu, a == 3) << 1;
  o[2] = __match_any_sync(0xffffffffu, a);
  int same;
  o[3] = __match_all_sync(0xffffffffu, a / 100, &same);
  o[4] = static_cast<unsigned>(same);
  o[5] = __match_any_sync(0xffffffffu, static_cast<long long>(a) << 33);
  int uniform;
  asm volatile("{ .reg .pred p, q; setp.gt.s32 p, %1, 0; vote.sync.uni.pred q, p, 0xffffffff;"
               "selp.s32 %0, 1, 0, q; }" : "=r"(uniform) : "r"(a));
  o[6] = static_cast<unsigned>(uniform);
  if (a & 1) {
    o[7] = __activemask() == __ballot_sync(__activemask(), 1);
  } else {
    o[7] = 2;
  }
  __syncwarp();
  unsigned below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  o[8] = __popc(o[0] & below);
}
