"""Forces between bodies: the square root and the division are approximate under fastmath."""
import math

from numba import cuda, float32, types


def kernel(p, force, n):
    i = cuda.grid(1)
    if i < n:
        fx = float32(0.0)
        fy = float32(0.0)
        for j in range(n):
            dx = p[2 * j] - p[2 * i]
            dy = p[2 * j + 1] - p[2 * i + 1]
            r = dx * dx + dy * dy + float32(0.01)
            inverse = float32(1.0) / (r * math.sqrt(r))
            fx += dx * inverse
            fy += dy * inverse
        force[2 * i] = fx
        force[2 * i + 1] = fy


signature = (types.CPointer(types.float32), types.CPointer(types.float32), types.int32)
fastmath = True
