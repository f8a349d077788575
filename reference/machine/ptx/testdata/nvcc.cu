// Source of nvcc.ptx: nvcc -ptx -arch=compute_80 -fmad=false -lineinfo nvcc.cu
#include <cuda_fp16.h>

__constant__ int lut[4] = {1, 2, 3, 4};
static __device__ float scale = 1.5f;
__device__ const char* message = "hello";
struct Pair {
  int a;
  char b;
  float c;
};
extern __shared__ int dynamic[];

static __device__ __noinline__ float helper(float x, Pair pair) { return x * scale + pair.c; }

typedef int (*Unary)(int);
__device__ int increment(int x) { return x + 1; }
__device__ int twice(int x) { return x * 2; }
__device__ Unary table[2] = {increment, twice};

extern "C" __global__ void __launch_bounds__(256, 2)
    everything(const float* x, float* y, int n, Pair pair) {
  __shared__ float tile[128];
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) tile[threadIdx.x & 127] = x[i];
  __syncthreads();
  dynamic[threadIdx.x] = lut[i & 3];
  float v = helper(tile[i & 127], pair) + __half2float(__float2half(x[i]));
  switch (n) {
    case 0: v += 1; break;
    case 1: v *= 2; break;
    case 2: v = exp2f(v); break;
    case 3: v = 1 / v; break;
    case 4: v = __shfl_xor_sync(~0u, v, 1); break;
  }
  y[i] = v + static_cast<float>(dynamic[i & 7] + message[i]);
}

extern "C" __global__ void indirect(int* p, int n) { *p = table[n](n); }

extern "C" __global__ void plain_half2(const __half2* a, const __half2* b, __half2* c) {
  c[threadIdx.x] = __hadd2(__hmul2(a[threadIdx.x], b[threadIdx.x]), c[threadIdx.x]);
}

extern "C" __global__ void marked_half2(const __half2* a, const __half2* b, __half2* c) {
  c[threadIdx.x] = __hadd2_rn(__hmul2_rn(a[threadIdx.x], b[threadIdx.x]), c[threadIdx.x]);
}
