"""A tiled matrix product, shared tiles of f32."""
from numba import cuda, float32, types


def kernel(a, b, c, n):
    at = cuda.shared.array((8, 8), dtype=float32)
    bt = cuda.shared.array((8, 8), dtype=float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.grid(2)
    total = float32(0.0)
    for k in range(0, n, 8):
        at[y, x] = a[j * n + k + x]
        bt[y, x] = b[(k + y) * n + i]
        cuda.syncthreads()
        for p in range(8):
            total += at[y, p] * bt[p, x]
        cuda.syncthreads()
    c[j * n + i] = total


signature = (types.CPointer(types.float32), types.CPointer(types.float32), types.CPointer(types.float32), types.int32)
