"""A block sum through shared memory, of an array with shape and strides."""
from numba import cuda, float64, types


def kernel(x, out):
    tile = cuda.shared.array(64, dtype=float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


signature = (types.float64[:], types.float64[:])
