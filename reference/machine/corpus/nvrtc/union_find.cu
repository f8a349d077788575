// Connected components: hooking by compare-and-swap, a first launch makes each node its own root.

extern "C" __global__ void roots(int* parent, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) parent[i] = i;
}

__device__ int find(const int* parent, int i) {
  for (int p; (p = *static_cast<const volatile int*>(parent + i)) != i;) i = p;
  return i;
}

extern "C" __global__ void join(const unsigned char* edges, int* parent, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int a = find(parent, edges[2 * i]), b = find(parent, edges[2 * i + 1]);
  while (a != b) {
    const int high = max(a, b), low = min(a, b);
    if (atomicCAS(parent + high, high, low) == high) break;
    a = find(parent, high);
    b = find(parent, low);
  }
}

extern "C" __global__ void flatten(const int* parent, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = find(parent, i);
}
