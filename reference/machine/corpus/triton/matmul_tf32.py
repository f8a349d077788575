"""A product of f32 operands as tf32."""
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y, input_precision="tf32"))


signature = {"a": "*fp32", "b": "*fp32", "c": "*fp32"}
constants = {"M": 16, "N": 16, "K": 32}
options = {"num_warps": 1}
