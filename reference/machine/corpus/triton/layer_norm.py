"""RMS norm of bf16 rows with a gain."""
import triton
import triton.language as tl


@triton.jit
def kernel(x, gain, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(v * v, axis=0) / n + 1e-6)
    g = tl.load(gain + i, mask=i < n, other=0.0)
    tl.store(out + row * n + i, (v * scale * g).to(tl.bfloat16), mask=i < n)


signature = {"x": "*bf16", "gain": "*fp32", "out": "*bf16", "n": "i32"}
constants = {"BLOCK": 256}
