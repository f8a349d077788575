// Initialised globals: tables, a string, and pointers to other globals.

__device__ int primes[6] = {2, 3, 5, 7, 11, 13};
__device__ short squares[5] = {0, 1, 4, 9, 16};
__device__ const char text[] = "reference machine";
__device__ int* tables[2] = {primes, primes + 3};
__device__ const char* words[2] = {text, text + 10};
__device__ double half = 0.5;
__device__ unsigned counter;

extern "C" __global__ void initialised_globals(int* out) {
  const int t = threadIdx.x;
  out[t] = tables[t & 1][t % 3] * squares[t % 5] + words[(t >> 1) & 1][t % 7] +
           static_cast<int>(half * t);
  atomicAdd(&counter, 1u);
  __syncthreads();
  if (t == 0) out[blockDim.x] = static_cast<int>(counter);
}
