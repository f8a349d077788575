// Recursion: Ackermann, Hanoi and a quicksort of a thread's own array.

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ void hanoi(int n, int from, int to, unsigned& hash) {
  if (n == 0) return;
  hanoi(n - 1, from, 3 - from - to, hash);
  hash = hash * 31 + static_cast<unsigned>(from * 3 + to);
  hanoi(n - 1, 3 - from - to, to, hash);
}

__device__ __noinline__ void quicksort(int* a, int low, int high) {
  if (low >= high) return;
  const int pivot = a[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (a[i] < pivot) ++i;
    while (a[j] > pivot) --j;
    if (i <= j) {
      const int swap = a[i];
      a[i++] = a[j];
      a[j--] = swap;
    }
  }
  quicksort(a, low, j);
  quicksort(a, i, high);
}

extern "C" __global__ void recursion(int* data, unsigned* out) {
  const int t = threadIdx.x;
  out[2 * t] = static_cast<unsigned>(ackermann(t % 3, t % 5));
  unsigned hash = static_cast<unsigned>(t);
  hanoi(1 + t % 6, t % 3, (t + 1) % 3, hash);
  out[2 * t + 1] = hash;
  quicksort(data + t * 12, 0, 11);
}
