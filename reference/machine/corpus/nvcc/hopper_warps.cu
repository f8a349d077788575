// target: compute_90
// What compute_90 adds for a warp: an elected lane, stmatrix, a barrier that waits in hardware,
// packed 16-bit extrema.

extern "C" __global__ void hopper_warps(const unsigned* x, unsigned* out) {
  __shared__ __align__(16) unsigned tile[128];
  __shared__ unsigned long long barrier;
  const unsigned t = threadIdx.x;
  const auto shared = [](const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
  unsigned elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(shared(&barrier)) : "memory");
  }
  __syncwarp();
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared(tile + t * 4)),
               "r"(x[t]), "r"(x[t + 32]), "r"(x[t + 64]), "r"(x[t + 96]) : "memory");
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared(&barrier)) : "memory");
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared(&barrier)) : "memory");
  }
  unsigned* o = out + t * 8;
  for (int i = 0; i < 4; ++i) o[i] = tile[t * 4 + i];
  o[4] = __popc(__ballot_sync(0xffffffffu, elected));
  asm("min.s16x2 %0, %1, %2;" : "=r"(o[5]) : "r"(x[t]), "r"(x[t + 32]));
  asm("max.u16x2 %0, %1, %2;" : "=r"(o[6]) : "r"(x[t]), "r"(x[t + 32]));
  asm("add.u16x2 %0, %1, %2;" : "=r"(o[7]) : "r"(x[t]), "r"(x[t + 32]));
}
