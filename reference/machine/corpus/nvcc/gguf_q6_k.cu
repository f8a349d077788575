// Super-blocks of 256 6-bit weights with 8-bit sub-scales (GGUF Q6_K), dequantised.
#include <cuda_fp16.h>

struct SuperBlock {
  unsigned char low[128];
  unsigned char high[64];
  signed char scales[16];
  __half d;
};

extern "C" __global__ void gguf_q6_k(const SuperBlock* blocks, float* out) {
  const SuperBlock& b = blocks[blockIdx.x];
  const int half = threadIdx.x / 32, l = threadIdx.x % 32;
  const unsigned char* ql = b.low + 64 * half;
  const unsigned char qh = b.high[32 * half + l];
  const signed char* sc = b.scales + 8 * half + l / 16;
  const float d = __half2float(b.d);
  const int q1 = static_cast<signed char>((ql[l] & 0xf) | ((qh & 3) << 4)) - 32;
  const int q2 = static_cast<signed char>((ql[l + 32] & 0xf) | (((qh >> 2) & 3) << 4)) - 32;
  const int q3 = static_cast<signed char>((ql[l] >> 4) | (((qh >> 4) & 3) << 4)) - 32;
  const int q4 = static_cast<signed char>((ql[l + 32] >> 4) | (((qh >> 6) & 3) << 4)) - 32;
  float* y = out + blockIdx.x * 256 + 128 * half;
  y[l] = d * sc[0] * q1;
  y[l + 32] = d * sc[2] * q2;
  y[l + 64] = d * sc[4] * q3;
  y[l + 96] = d * sc[6] * q4;
}
