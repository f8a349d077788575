"""round, floor, integer conversion and comparisons of floats."""
import math

from numba import cuda, int32, types


def kernel(x, out):
    t = cuda.grid(1)
    v = x[t]
    out[6 * t] = int32(v)
    out[6 * t + 1] = int32(math.floor(v))
    out[6 * t + 2] = int32(math.ceil(v * 2.5))
    out[6 * t + 3] = int32(round(v))
    out[6 * t + 4] = int32(math.copysign(3.0, v)) + (1 if math.isnan(v) else 0)
    out[6 * t + 5] = int32(math.fabs(v) > 4.0) + 2 * int32(v == math.trunc(v))


signature = (types.CPointer(types.float32), types.CPointer(types.int32))
