"""Counts by atomics in shared and global memory."""
from numba import cuda, int32, types


def kernel(x, bins, n):
    local = cuda.shared.array(32, dtype=int32)
    t = cuda.threadIdx.x
    if t < 32:
        local[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(local, x[i] & 31, 1)
    cuda.syncthreads()
    if t < 32:
        cuda.atomic.add(bins, t, local[t])


signature = (types.CPointer(types.uint8), types.int32[:], types.int32)
