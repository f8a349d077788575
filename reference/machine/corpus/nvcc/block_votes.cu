// Barriers that count, and and or a predicate over the block.

extern "C" __global__ void block_votes(const int* x, int* out) {
  const int t = threadIdx.x, a = x[blockIdx.x * blockDim.x + t];
  const int count = __syncthreads_count(a > 0);
  const int all = __syncthreads_and(a > -90);
  const int any = __syncthreads_or(a == 7);
  out[blockIdx.x * blockDim.x + t] = count * 4 + (all != 0) * 2 + (any != 0);
}
