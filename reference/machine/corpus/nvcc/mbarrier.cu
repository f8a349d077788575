// mbarrier objects: arrivals, waits by phase, and an asynchronous copy that arrives.

__device__ unsigned shared(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ unsigned long long arrive(unsigned long long* b) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(shared(b)) : "memory");
  return state;
}
__device__ void wait(unsigned long long* b, unsigned long long state) {
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared(b)), "l"(state) : "memory");
  }
}

extern "C" __global__ void mbarrier(const int* x, int* out) {
  __shared__ unsigned long long barrier, copied;
  __shared__ __align__(16) int data[64], row[64];
  const int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(&barrier)), "r"(64) : "memory");
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(&copied)), "r"(16) : "memory");
  }
  __syncthreads();
  int sum = 0;
  for (int phase = 0; phase < 3; ++phase) {
    data[t] = x[phase * 64 + t];
    wait(&barrier, arrive(&barrier));
    sum += data[(t * 3 + phase) % 64];
    wait(&barrier, arrive(&barrier));
  }
  if (t < 16) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared(&row[4 * t])),
                 "l"(x + 4 * t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared(&copied))
                 : "memory");
  }
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;"
                 "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared(&copied)) : "memory");
  }
  sum ^= row[63 - t];
  __syncthreads();
  if (t == 0) {
    unsigned long long word;
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 5;"
                 : "=l"(word) : "r"(shared(&barrier)) : "memory");
    unsigned pending;
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(word));
    sum += static_cast<int>(pending);
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared(&barrier)) : "memory");
  }
  out[t] = sum;
}
