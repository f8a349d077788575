// A pipeline of asynchronous copies, three stages deep, with a zero-filled tail.

__device__ void copy16(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(bytes)
               : "memory");
}
__device__ void copy4(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

extern "C" __global__ void async_copies(const int* x, const int* scale, int* out, int n) {
  __shared__ __align__(16) int tile[3][128];
  __shared__ int factor[32];
  const int t = threadIdx.x, steps = (n + 127) / 128;
  auto fetch = [&](int step) {
    if (step < steps) {
      const int first = step * 128 + 4 * t;
      const int left = n - first;
      copy16(&tile[step % 3][4 * t], x + (left > 0 ? first : 0),
             left >= 4 ? 16 : left > 0 ? 4 * left : 0);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  copy4(&factor[t], scale + t);
  fetch(0);
  fetch(1);
  int sum = 0;
  for (int step = 0; step < steps; ++step) {
    fetch(step + 2);
    asm volatile("cp.async.wait_group 2;" ::: "memory");
    __syncthreads();
    for (int i = 0; i < 4; ++i) sum += tile[step % 3][(t * 5 + i * 32) % 128] * factor[(t + i) % 32];
    __syncthreads();
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  out[t] = sum;
}
