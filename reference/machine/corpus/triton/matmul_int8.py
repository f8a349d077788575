"""An int8 product with int32 sums."""
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + n[None, :] * K + k[:, None])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y))


signature = {"a": "*i8", "b": "*i8", "c": "*i32"}
constants = {"M": 16, "N": 16, "K": 64}
options = {"num_warps": 1}
