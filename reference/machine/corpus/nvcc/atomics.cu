// Atomics of every integer operation and width, on shared and global memory; the results that are
// kept do not depend on the order.

template <class T>
__device__ void all_of(T* a, T v) {
  atomicAdd(a, v);
  atomicMin(a + 1, v);
  atomicMax(a + 2, v);
  atomicAnd(a + 3, v | T(0xff));
  atomicOr(a + 4, v & T(0xff0));
  atomicXor(a + 5, v);
}

extern "C" __global__ void atomics(const unsigned* x, unsigned* words, unsigned long long* wides,
                                   float* f, double* d) {
  __shared__ unsigned shared[8];
  __shared__ unsigned long long shared_wide[6];
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t, v = x[i];
  if (t < 8) shared[t] = t * 1000;
  if (t < 6) shared_wide[t] = t;
  __syncthreads();
  all_of(shared, v);
  all_of(reinterpret_cast<int*>(words), static_cast<int>(v));
  all_of(words + 8, v);
  all_of(wides, (static_cast<unsigned long long>(v) << 20) + t);
  all_of(shared_wide, (static_cast<unsigned long long>(v) << 9) ^ t);
  atomicMin(reinterpret_cast<long long*>(wides) + 6, static_cast<long long>(v) - 0x80000000ll);
  atomicMax(reinterpret_cast<long long*>(wides) + 7, static_cast<long long>(v) - 0x80000000ll);
  atomicInc(words + 6, 10);
  atomicDec(words + 7, 12);
  atomicInc(shared + 6, 5);
  atomicDec(shared + 7, 2000);
  atomicSub(words + 14, v);
  const unsigned claimed = atomicExch(words + 15, 7);
  if (claimed != 7) atomicAdd(words + 16, claimed + 1);
  if (atomicCAS(words + 17, 0u, 5u) == 0u) atomicAdd(words + 18, 1u);
  if (atomicCAS(wides + 8, 0ull, 1ull << 40) == 0) atomicAdd(words + 19, 1u);
  if (atomicCAS(reinterpret_cast<unsigned short*>(words + 20), 0, 3) == 0) atomicAdd(words + 21, 1u);
  atomicExch(wides + 9, 11ull);
  atomicAdd(f, static_cast<float>(v & 15));
  atomicAdd(d, static_cast<double>(v & 1023));
  atomicAdd_block(words + 22, v);
  atomicAdd_system(words + 23, v);
  __syncthreads();
  if (t < 8) atomicXor(words + 24 + t, shared[t] + blockIdx.x);
  if (t < 6) atomicXor(wides + 10 + t, shared_wide[t]);
}
