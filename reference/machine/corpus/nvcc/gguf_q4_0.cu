// Blocks of 32 4-bit weights with an f16 scale (GGUF Q4_0), dequantised.
#include <cuda_fp16.h>

struct Block {
  __half scale;
  unsigned char nibbles[16];
};

extern "C" __global__ void gguf_q4_0(const Block* blocks, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count * 16) return;
  const Block& block = blocks[i / 16];
  const float scale = __half2float(block.scale);
  const unsigned char pair = block.nibbles[i % 16];
  out[i / 16 * 32 + i % 16] = scale * (static_cast<int>(pair & 15) - 8);
  out[i / 16 * 32 + 16 + i % 16] = scale * (static_cast<int>(pair >> 4) - 8);
}
