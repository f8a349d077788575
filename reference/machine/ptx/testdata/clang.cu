// Source of clang.ptx: clang -S -g --cuda-device-only --cuda-gpu-arch=sm_80, without CUDA's headers
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
struct Rows {
  int a[3];
  double d;
};
extern __device__ int elsewhere(int);
__device__ int grid[2][3] = {{1, 2, 3}, {4}};
__device__ int* inside[2] = {&grid[0][1], nullptr};
struct Packed {
  char c;
  int* p;
} __attribute__((packed));
__device__ Packed packed = {1, &grid[1][0]};
__constant__ float values[2] = {1.5f, -2.f};
__device__ __attribute__((noinline)) int factorial(int n) {
  return n < 2 ? 1 : n * factorial(n - 1) + packed.c;
}
extern "C" __global__ void forms(float* p, Rows rows, int n) {
  __shared__ float tile[16];
  tile[n & 15] = p[n] * values[n & 1] + 1.0f;
  __asm__ volatile("{ .reg .pred p; LAB: setp.eq.s32 p, %0, 0; @p bra LAB; }" ::"r"(n));
  __asm__ volatile("{ .reg .pred p; LAB: setp.eq.s32 p, %0, 1; @!p bra LAB; }" ::"r"(n));
  int* r = inside[n];
  *r = factorial(n) + elsewhere(3) + grid[n][1] + rows.a[n];
  packed.p = r;
  p[n] = tile[3];
}
