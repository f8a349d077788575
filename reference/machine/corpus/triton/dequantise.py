"""4-bit weights with a scale and a zero point a group, to f16."""
import triton
import triton.language as tl


@triton.jit
def kernel(packed, scales, zeros, out, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(packed + i // 8)
    q = (word >> ((i % 8) * 4)) & 15
    scale = tl.load(scales + i // GROUP)
    zero = tl.load(zeros + i // GROUP)
    tl.store(out + i, ((q - zero).to(tl.float32) * scale).to(tl.float16))


signature = {"packed": "*i32", "scales": "*fp32", "zeros": "*i32", "out": "*fp16"}
constants = {"BLOCK": 256, "GROUP": 32}
