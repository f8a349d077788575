// Three bytes to four letters: a byte table in constant memory, unaligned bytes.
#include "reference/machine/corpus/clang/device.h"

__constant__ const char letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

extern "C" __global__ void base64(const unsigned char* x, char* out, int groups) {
  const int i = index();
  if (i >= groups) return;
  const unsigned v = x[3 * i] << 16 | x[3 * i + 1] << 8 | x[3 * i + 2];
  for (int k = 0; k < 4; ++k) out[4 * i + k] = letters[(v >> (18 - 6 * k)) & 63];
}
