// MurmurHash3 of a message a thread, and a 64-bit FNV-1a.

extern "C" __global__ void hash(const unsigned char* text, const unsigned* lengths, unsigned* out) {
  const unsigned t = threadIdx.x;
  const unsigned char* m = text + t * 32;
  const unsigned length = lengths[t];
  unsigned h = t;
  for (unsigned i = 0; i + 4 <= length; i += 4) {
    unsigned k = m[i] | m[i + 1] << 8 | m[i + 2] << 16 | static_cast<unsigned>(m[i + 3]) << 24;
    k *= 0xcc9e2d51u;
    k = (k << 15) | (k >> 17);
    h ^= k * 0x1b873593u;
    h = (h << 13) | (h >> 19);
    h = h * 5 + 0xe6546b64u;
  }
  unsigned tail = 0;
  switch (length & 3) {
    case 3: tail ^= m[(length & ~3u) + 2] << 16;  // fall through
    case 2: tail ^= m[(length & ~3u) + 1] << 8;   // fall through
    case 1: tail ^= m[length & ~3u]; h ^= tail * 0xcc9e2d51u;
  }
  h ^= length;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  unsigned long long fnv = 0xcbf29ce484222325ull;
  for (unsigned i = 0; i < length; ++i) fnv = (fnv ^ m[i]) * 0x100000001b3ull;
  out[3 * t] = h;
  out[3 * t + 1] = static_cast<unsigned>(fnv);
  out[3 * t + 2] = static_cast<unsigned>(fnv >> 32);
}
