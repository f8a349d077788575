"""Python's floor division and modulo, powers and shifts on 64-bit integers."""
from numba import cuda, types


def kernel(x, out):
    t = cuda.grid(1)
    a = x[2 * t]
    b = x[2 * t + 1] | 1
    out[5 * t] = a // b
    out[5 * t + 1] = a % b
    out[5 * t + 2] = (a ** 3) ^ (b << 2)
    out[5 * t + 3] = min(a, b) + (max(a, b) >> 5)
    out[5 * t + 4] = abs(a) if a < b else ~a


signature = (types.CPointer(types.int64), types.CPointer(types.int64))
