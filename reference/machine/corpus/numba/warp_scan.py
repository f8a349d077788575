"""A warp scan by shuffles, with ballots and bit counts."""
from numba import cuda, types


def kernel(x, out):
    t = cuda.threadIdx.x
    v = x[t]
    lane = t & 31
    step = 1
    while step < 32:
        other = cuda.shfl_up_sync(0xFFFFFFFF, v, step)
        if lane >= step:
            v += other
        step *= 2
    votes = cuda.ballot_sync(0xFFFFFFFF, x[t] > 0)
    out[3 * t] = v
    out[3 * t + 1] = cuda.popc(votes)
    out[3 * t + 2] = cuda.shfl_xor_sync(0xFFFFFFFF, v, 5) + cuda.clz(v) + cuda.ffs(v)


signature = (types.CPointer(types.int32), types.CPointer(types.int32))
