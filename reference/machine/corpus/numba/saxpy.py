"""a x + y, contracted by the compiler."""
from numba import cuda, types


def kernel(y, x, a, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


signature = (types.CPointer(types.float32), types.CPointer(types.float32), types.float32, types.int32)
