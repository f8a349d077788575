// One function for pointers into every space, and what isspacep and cvta say of them.

__device__ __noinline__ int sum(const int* p, int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) s = s * 5 + p[i];
  return s;
}
__device__ __noinline__ int kind(const void* p) {
  return __isGlobal(p) + 2 * __isShared(p) + 4 * __isLocal(p) + 8 * __isConstant(p);
}
__constant__ int fixed[4] = {4, 3, 2, 1};
__device__ int global[4] = {9, 8, 7, 6};

extern "C" __global__ void generic_addresses(const int* x, int* out) {
  __shared__ int shared[4];
  const int t = threadIdx.x;
  int local[4];
  for (int i = 0; i < 4; ++i) local[(i + t) % 4] = x[t] + i;
  if (t < 4) shared[t] = x[t];
  __syncthreads();
  const int* places[5] = {x, shared, local, fixed, global};
  const int* p = places[t % 5];
  int* o = out + 3 * t;
  o[0] = sum(p, 4);
  o[1] = kind(p);
  const auto narrow = static_cast<unsigned>(__cvta_generic_to_shared(shared + t % 4));
  int v;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(v) : "r"(narrow) : "memory");
  o[2] = v + *static_cast<const int*>(__cvta_shared_to_generic(narrow));
}
