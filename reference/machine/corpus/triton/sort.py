"""A bitonic sort of 64 16-bit integers, and their histogram."""
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, bins, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, tl.sort(v))
    tl.store(bins + tl.arange(0, 16), tl.histogram((v & 15).to(tl.int32), 16))


signature = {"x": "*i16", "out": "*i16", "bins": "*i32"}
constants = {"BLOCK": 64}
options = {"num_warps": 1}
