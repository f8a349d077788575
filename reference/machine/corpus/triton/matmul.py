"""A tiled f16 product with f32 sums: cp.async pipeline, ldmatrix, mma."""
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.program_id(0) * N + tl.arange(0, N)
    k = tl.arange(0, BLOCK)
    at = a + m[:, None] * K + k[None, :]
    bt = b + k[:, None] * 64 + n[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, K, BLOCK):
        total = tl.dot(tl.load(at), tl.load(bt), total)
        at += BLOCK
        bt += BLOCK * 64
    tl.store(c + m[:, None] * 64 + n[None, :], total.to(tl.float16))


signature = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "K": "i32"}
constants = {"M": 16, "N": 32, "BLOCK": 32}
options = {"num_warps": 2, "num_stages": 3}
