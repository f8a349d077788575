// Variable-length integers encoded into a slot of ten bytes and decoded again.

extern "C" __global__ void varint(const unsigned long long* x, unsigned char* bytes, unsigned long long* back) {
  const int t = threadIdx.x;
  unsigned long long v = x[t] >> (t % 64);
  unsigned char* slot = bytes + 10 * t;
  int n = 0;
  do {
    slot[n++] = static_cast<unsigned char>((v & 127) | (v > 127 ? 128 : 0));
    v >>= 7;
  } while (v != 0);
  for (int i = n; i < 10; ++i) slot[i] = 0;
  unsigned long long r = 0;
  int shift = 0;
  for (const unsigned char* p = slot;; ++p, shift += 7) {
    r |= static_cast<unsigned long long>(*p & 127) << shift;
    if (!(*p & 128)) break;
  }
  back[t] = r ^ (static_cast<unsigned long long>(n) << 56);
}
