"""A block of attention over two tiles of keys, with an online softmax."""
import triton
import triton.language as tl


@triton.jit
def kernel(q, k, v, out, D: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    query = tl.load(q + i[:, None] * D + d[None, :])
    most = tl.full((BLOCK,), -1e30, dtype=tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    o = tl.zeros((BLOCK, D), dtype=tl.float32)
    for tile in range(0, 2):
        j = tile * BLOCK + i
        key = tl.load(k + j[None, :] * D + d[:, None])
        score = tl.dot(query, key)
        score = tl.where(j[None, :] <= i[:, None] + BLOCK, score, -1e30)
        higher = tl.maximum(most, tl.max(score, axis=1))
        p = tl.exp2(score - higher[:, None])
        shrink = tl.exp2(most - higher)
        total = total * shrink + tl.sum(p, axis=1)
        value = tl.load(v + j[:, None] * D + d[None, :])
        o = o * shrink[:, None] + tl.dot(p.to(tl.float16), value)
        most = higher
    tl.store(out + i[:, None] * D + d[None, :], o / total[:, None])


signature = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32"}
constants = {"D": 16, "BLOCK": 16}
options = {"num_warps": 1, "num_stages": 1}
