"""Escape counts with complex numbers."""
from numba import cuda, types


def kernel(out, width, height):
    i, j = cuda.grid(2)
    if i < width and j < height:
        c = complex(i * 0.0625 - 2.0, j * 0.125 - 1.0)
        z = 0j
        n = 0
        while n < 40 and z.real * z.real + z.imag * z.imag < 4.0:
            z = z * z + c
            n += 1
        out[j * width + i] = n


signature = (types.CPointer(types.int32), types.int32, types.int32)
