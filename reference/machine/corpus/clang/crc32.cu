// CRC-32 of 16 bytes a thread, by bits and by a table that a block makes in shared memory.
#include "reference/machine/corpus/clang/device.h"

extern "C" __global__ void crc32(const unsigned char* x, unsigned* out) {
  __shared__ unsigned table[256];
  const int t = static_cast<int>(THREAD);
  for (int i = t; i < 256; i += static_cast<int>(THREADS)) {
    unsigned c = static_cast<unsigned>(i);
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  BARRIER;
  unsigned a = ~0u, b = ~0u;
  for (int i = 0; i < 16; ++i) {
    a = table[(a ^ x[t * 16 + i]) & 255] ^ (a >> 8);
    b ^= x[t * 16 + i];
    for (int k = 0; k < 8; ++k) b = (b >> 1) ^ (0xedb88320u & -(b & 1));
  }
  out[2 * t] = ~a;
  out[2 * t + 1] = a ^ b;
}
