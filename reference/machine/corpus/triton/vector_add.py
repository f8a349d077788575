"""A masked vector sum."""
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
constants = {"BLOCK": 256}
