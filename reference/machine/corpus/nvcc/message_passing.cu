// Release and acquire between blocks: a value, a flag, and the last block to arrive that sums.
#include <cuda/atomic>

__device__ unsigned arrived;

extern "C" __global__ void message_passing(const int* x, int* partial, int* out) {
  __shared__ bool last;
  __shared__ int sums[2];
  const int t = threadIdx.x;
  int v = x[blockIdx.x * 64 + t];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (t % 32 == 0) sums[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    partial[blockIdx.x] = sums[0] + sums[1];
    __threadfence();
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> count(arrived);
    last = count.fetch_add(1, cuda::std::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t < gridDim.x) {
    cuda::atomic_ref<int, cuda::thread_scope_device> total(*out);
    total.fetch_add(*static_cast<volatile int*>(partial + t), cuda::std::memory_order_relaxed);
    __threadfence_system();
    __threadfence_block();
  }
}
