// Levels of a breadth-first search over a random graph of degree four, three launches.

extern "C" __global__ void begin(int* level, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) level[i] = i == 5 ? 0 : 0x7fffffff;
}

extern "C" __global__ void graph_step(const unsigned char* edges, int* level, int* reached,
                                      int step, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || *static_cast<volatile int*>(level + i) != step) return;
  for (int e = 0; e < 4; ++e) {
    if (atomicMin(&level[edges[4 * i + e]], step + 1) > step + 1) atomicAdd(reached, 1);
  }
}
